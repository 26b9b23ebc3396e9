/* Receives frames, and writes each one that it gets to a PNG file.
 *
 *     cc receive_png.c -o receive_png $(pkg-config --cflags --libs framewire libpng)
 *     ./receive_png HOST[:PORT][/STREAM] COUNT PREFIX        # writes PREFIX-000.png, PREFIX-001.png, ...
 *
 * It takes frames whose pixels are one plane of 8-bit colours, as PNG has them. For others ask the sender, for example
 * `framewire send --pix-fmt rgba gl:aurora`.
 */
#include <framewire/framewire.h>
#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* libpng's number of the same format, or -1. */
static int64_t png_format_of(int32_t pixel_format) {
  switch (pixel_format) {
    case FW_PIXEL_RGBA:
      return PNG_FORMAT_RGBA;
    case FW_PIXEL_BGRA:
      return PNG_FORMAT_BGRA;
    case FW_PIXEL_RGB24:
      return PNG_FORMAT_RGB;
    case FW_PIXEL_BGR24:
      return PNG_FORMAT_BGR;
    case FW_PIXEL_GRAY8:
      return PNG_FORMAT_GRAY;
    default:
      return -1;
  }
}

/* Whether the frame was written; if not, says why. */
static int write_png(const fw_view* view, const char* name) {
  const int64_t format = png_format_of(view->pixel_format);
  if (format < 0) {
    fprintf(stderr, "receive_png: no PNG has pixels as %s\n", fw_pixel_format_name(view->pixel_format));
    return 0;
  }
  png_image image = {.version = PNG_IMAGE_VERSION,
                     .width = view->width,
                     .height = view->height,
                     .format = (png_uint_32)format,
                     .flags = PNG_IMAGE_FLAG_FAST};
  const png_int_32 pitch = (png_int_32)view->plane[0].pitch_bytes;
  if (!png_image_write_to_file(&image, name, 0, view->plane[0].data, pitch, NULL)) {
    fprintf(stderr, "receive_png: %s: %s\n", name, image.message);
    return 0;
  }
  return 1;
}

/* Waits for a frame. While there is none, says why, whenever that has changed. */
static fw_result acquire(fw_receiver* receiver, fw_frame** frame) {
  enum { TWO_SECONDS_NS = 2000000000 };
  char before[512] = "";
  char text[512];
  int32_t state;
  fw_result result;
  while ((result = fw_receiver_acquire(receiver, TWO_SECONDS_NS, frame)) == FW_NOTHING) {
    if (fw_receiver_state(receiver, &state, text, sizeof text) == FW_OK && strcmp(text, before) != 0) {
      fprintf(stderr, "receive_png: no frame yet: %s\n", text);
      memcpy(before, text, sizeof before);
    }
  }
  return result;
}

/* Whether a frame came, and was written. */
static int receive_picture(fw_receiver* receiver, const char* prefix, int number) {
  fw_frame* frame;
  fw_view view;
  char name[4096];
  const fw_result result = acquire(receiver, &frame);
  if (result != FW_OK) {
    fprintf(stderr, "receive_png: %s\n", result == FW_ENDED ? "the stream has ended" : fw_message());
    return 0;
  }
  /* The view points into memory that the sender fills again once the frame is given back: there was no copy. A program
   * that needs the pixels for long copies them. With delivery "latest" a slow one only misses frames meanwhile. */
  fw_frame_view(frame, &view, sizeof view);
  snprintf(name, sizeof name, "%s-%03d.png", prefix, number);
  const int written = write_png(&view, name);
  if (written) printf("%s: frame %llu\n", name, (unsigned long long)view.sequence);
  fw_frame_unref(frame);
  return written;
}

int main(int argc, char** argv) {
  if (argc != 4) {
    fprintf(stderr, "Usage: receive_png HOST[:PORT][/STREAM] COUNT PREFIX\n");
    return 2;
  }
  fw_receiver* receiver;
  if (fw_receiver_create(argv[1], NULL, &receiver) != FW_OK) {
    fprintf(stderr, "receive_png: %s\n", fw_message());
    return 1;
  }
  const int count = atoi(argv[2]);
  int number = 0;
  while (number < count && receive_picture(receiver, argv[3], number)) ++number;
  fw_receiver_destroy(receiver);
  return number < count;
}
