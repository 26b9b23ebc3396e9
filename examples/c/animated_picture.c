/* Streams an animated picture. Watch it by `framewire view`, or by receive_png.
 *
 *     cc animated_picture.c -o animated_picture $(pkg-config --cflags --libs framewire) -lm
 *     ./animated_picture [ADDRESS:PORT]
 */
#include <framewire/framewire.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>

enum { WIDTH = 640, HEIGHT = 360, FRAMES_PER_SECOND = 60, SECOND_NS = 1000000000 };

static volatile sig_atomic_t stopped = 0;

static void stop(int signal_number) {
  (void)signal_number;
  stopped = 1;
}

/* Rings that move outwards over a gradient. */
static void draw(const fw_plane* plane, float seconds) {
  for (int y = 0; y < HEIGHT; ++y) {
    /* Rows are pitch_bytes apart, which may be more than their pixels take. */
    uint8_t* pixel = (uint8_t*)plane->data + (size_t)y * plane->pitch_bytes;
    for (int x = 0; x < WIDTH; ++x, pixel += 4) {
      const float distance = hypotf((float)x - WIDTH / 2.0F, (float)y - HEIGHT / 2.0F);
      const float ring = 0.6F + 0.4F * sinf(distance * 0.1F - seconds * 5.0F);
      pixel[0] = (uint8_t)(ring * 255.0F * (float)x / WIDTH);
      pixel[1] = (uint8_t)(ring * 255.0F * (float)y / HEIGHT);
      pixel[2] = (uint8_t)(ring * 200.0F);
      pixel[3] = 255;
    }
  }
}

/* Sends picture `number`, once somebody watches; the timeout lets main() look at `stopped`. */
static fw_result send_picture(fw_stream* stream, int64_t number) {
  fw_slot* slot;
  fw_view view;
  const fw_frame_info info = {.struct_size = sizeof info, .pts_ns = number * SECOND_NS / FRAMES_PER_SECOND};
  fw_result result = fw_stream_claim(stream, SECOND_NS / 10, 0, &slot);
  if (result != FW_OK) return result;
  result = fw_slot_view(slot, &view, sizeof view);
  if (result == FW_OK) {
    draw(&view.plane[0], (float)number / FRAMES_PER_SECOND);
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
  signal(SIGINT, stop);
  signal(SIGTERM, stop);
  /* fw_message() says what was wrong with the call that failed; the ones after it are not made. */
  fw_result result = fw_sender_create(&settings, &sender);
  if (result == FW_OK) result = fw_sender_add_stream(sender, "rings", NULL, &stream);
  if (result == FW_OK) result = fw_sender_start(sender);
  if (result == FW_OK) result = fw_format_init(&format, sizeof format, FW_PIXEL_RGBA, WIDTH, HEIGHT);
  if (result == FW_OK) result = fw_stream_begin(stream, &format, 0, NULL);
  for (int64_t number = 0; result >= 0 && result != FW_ENDED && !stopped;) {
    result = send_picture(stream, number);
    number += result == FW_OK;
    nanosleep(&(struct timespec){.tv_nsec = SECOND_NS / FRAMES_PER_SECOND}, NULL);
  }
  if (result < 0) fprintf(stderr, "animated_picture: %s\n", fw_message());
  /* Viewers get the last picture, and learn that the stream has ended. */
  if (result >= 0) fw_sender_drain(sender, SECOND_NS);
  fw_sender_destroy(sender);
  return result < 0;
}
