/* Renders by OpenGL without a window, and streams what it renders. A GPU is not needed: Mesa renders by the processor.
 *
 *     cc opengl_render.c -o opengl_render $(pkg-config --cflags --libs framewire egl opengl)
 *     ./opengl_render [ADDRESS:PORT]
 */
#define GL_GLEXT_PROTOTYPES
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GL/gl.h>
#include <GL/glext.h>
#include <framewire/framewire.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { WIDTH = 1280, HEIGHT = 720, FRAMES_PER_SECOND = 60, SECOND_NS = 1000000000 };

/* A triangle that turns. The first row of a frame is the top one, and OpenGL reads the bottom one first: so the picture
 * is rendered upside down, and no rows have to be swapped afterwards. */
static const char vertex_shader[] =
    "#version 330 core\n"
    "uniform float angle;\n"
    "uniform float aspect;\n"
    "out vec3 colour;\n"
    "void main() {\n"
    "  float corner = angle + 2.0944 * float(gl_VertexID);\n"
    "  colour = vec3(gl_VertexID == 0, gl_VertexID == 1, gl_VertexID == 2);\n"
    "  gl_Position = vec4(0.9 * sin(corner) / aspect, -0.9 * cos(corner), 0.0, 1.0);\n"
    "}\n";
static const char fragment_shader[] =
    "#version 330 core\n"
    "in vec3 colour;\n"
    "out vec4 pixel;\n"
    "void main() { pixel = vec4(colour, 1.0); }\n";

static volatile sig_atomic_t stopped = 0;

static void stop(int signal_number) {
  (void)signal_number;
  stopped = 1;
}

/* Makes a context that needs neither a window system nor a surface. Whether that worked. */
static int make_context(void) {
  const char* extensions = eglQueryString(EGL_NO_DISPLAY, EGL_EXTENSIONS);
  const int is_mesa = extensions != NULL && strstr(extensions, "EGL_MESA_platform_surfaceless") != NULL;
  EGLDisplay display = is_mesa ? eglGetPlatformDisplay(EGL_PLATFORM_SURFACELESS_MESA, EGL_DEFAULT_DISPLAY, NULL)
                               : eglGetDisplay(EGL_DEFAULT_DISPLAY);
  const EGLint wanted[] = {EGL_SURFACE_TYPE, EGL_PBUFFER_BIT, EGL_RENDERABLE_TYPE, EGL_OPENGL_BIT, EGL_NONE};
  const EGLint version[] = {EGL_CONTEXT_MAJOR_VERSION, 3, EGL_CONTEXT_MINOR_VERSION, 3, EGL_NONE};
  EGLConfig config;
  EGLint count = 0;
  if (!eglInitialize(display, NULL, NULL) || !eglBindAPI(EGL_OPENGL_API) ||
      !eglChooseConfig(display, wanted, &config, 1, &count) || count == 0) {
    return 0;
  }
  EGLContext context = eglCreateContext(display, config, EGL_NO_CONTEXT, version);
  return context != EGL_NO_CONTEXT && eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, context);
}

static void add_shader(GLuint program, GLenum type, const char* source) {
  const GLuint shader = glCreateShader(type);
  glShaderSource(shader, 1, &source, NULL);
  glCompileShader(shader);
  glAttachShader(program, shader);
}

/* The framebuffer and the program that draw() uses, which stay bound. Whether that worked. */
static int prepare(GLuint* program) {
  GLuint framebuffer, texture, vertices;
  GLint is_linked = 0;
  glGenTextures(1, &texture);
  glBindTexture(GL_TEXTURE_2D, texture);
  glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA8, WIDTH, HEIGHT, 0, GL_RGBA, GL_UNSIGNED_BYTE, NULL);
  glGenFramebuffers(1, &framebuffer);
  glBindFramebuffer(GL_FRAMEBUFFER, framebuffer);
  glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, texture, 0);
  glGenVertexArrays(1, &vertices);
  glBindVertexArray(vertices);
  *program = glCreateProgram();
  add_shader(*program, GL_VERTEX_SHADER, vertex_shader);
  add_shader(*program, GL_FRAGMENT_SHADER, fragment_shader);
  glLinkProgram(*program);
  glGetProgramiv(*program, GL_LINK_STATUS, &is_linked);
  glUseProgram(*program);
  glViewport(0, 0, WIDTH, HEIGHT);
  glClearColor(0.1F, 0.1F, 0.12F, 1.0F);
  return is_linked && glCheckFramebufferStatus(GL_FRAMEBUFFER) == GL_FRAMEBUFFER_COMPLETE;
}

static void draw(GLuint program, float seconds) {
  glUniform1f(glGetUniformLocation(program, "angle"), seconds);
  glUniform1f(glGetUniformLocation(program, "aspect"), (float)WIDTH / HEIGHT);
  glClear(GL_COLOR_BUFFER_BIT);
  glDrawArrays(GL_TRIANGLES, 0, 3);
}

/* Renders picture `number`, once somebody watches, and sends it. */
static fw_result send_picture(fw_stream* stream, GLuint program, int64_t number) {
  fw_slot* slot;
  fw_view view;
  const fw_frame_info info = {.struct_size = sizeof info, .pts_ns = number * SECOND_NS / FRAMES_PER_SECOND};
  fw_result result = fw_stream_claim(stream, SECOND_NS / 10, 0, &slot);
  if (result != FW_OK) return result;
  result = fw_slot_view(slot, &view, sizeof view);
  if (result == FW_OK) {
    draw(program, (float)number / FRAMES_PER_SECOND);
    /* Reads straight into the slot. A program that may not wait for its GPU here reads into two pixel buffers in turn,
     * and copies the one of the last picture into the slot. */
    glPixelStorei(GL_PACK_ROW_LENGTH, (GLint)(view.plane[0].pitch_bytes / 4));
    glReadPixels(0, 0, WIDTH, HEIGHT, GL_RGBA, GL_UNSIGNED_BYTE, view.plane[0].data);
    result = fw_slot_publish(slot, &info);
  }
  fw_slot_unref(slot);
  return result;
}

int main(int argc, char** argv) {
  const fw_option listen = {"listen", argc > 1 ? argv[1] : "localhost:5290"};
  const fw_settings settings = {.struct_size = sizeof settings, .options = &listen, .option_count = 1};
  fw_sender* sender = NULL;
  fw_stream* stream = NULL;
  fw_format format;
  GLuint program;
  if (!make_context() || !prepare(&program)) {
    fprintf(stderr, "opengl_render: there is no OpenGL 3.3 without a window here\n");
    return 1;
  }
  signal(SIGINT, stop);
  signal(SIGTERM, stop);
  fw_result result = fw_sender_create(&settings, &sender);
  if (result == FW_OK) result = fw_sender_add_stream(sender, "triangle", NULL, &stream);
  if (result == FW_OK) result = fw_sender_start(sender);
  if (result == FW_OK) result = fw_format_init(&format, sizeof format, FW_PIXEL_RGBA, WIDTH, HEIGHT);
  if (result == FW_OK) result = fw_stream_begin(stream, &format, 0, NULL);
  for (int64_t number = 0; result >= 0 && result != FW_ENDED && !stopped;) {
    result = send_picture(stream, program, number);
    number += result == FW_OK;
    nanosleep(&(struct timespec){.tv_nsec = SECOND_NS / FRAMES_PER_SECOND}, NULL);
  }
  if (result < 0) fprintf(stderr, "opengl_render: %s\n", fw_message());
  if (result >= 0) fw_sender_drain(sender, SECOND_NS); /* viewers learn that the stream has ended */
  fw_sender_destroy(sender);
  return result < 0;
}
