/* One row of `framewire bench`, "stream", by the C interface: library_speed TRANSPORT SIZE COUNT SLOTS. A child process
   receives. Prints the messages a second, from when the sender begins the first one until the last one arrives. As in
   the bench, nobody touches the payload, and messages that warm up do not count. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "library/include/framewire/framewire.h"

static const uint64_t warm_up_tag = 16;

struct plan {
  const char* transport;
  uint32_t size_bytes;
  uint64_t count;
  const char* slots;
};

static void must(fw_result result) {
  if (result != FW_OK) {
    fprintf(stderr, "library_speed: %s: %s\n", fw_result_name(result), fw_message());
    exit(1);
  }
}

static void publish_one(fw_stream* stream, uint64_t size_bytes, uint64_t tag) {
  const fw_frame_info info = {.struct_size = sizeof info, .tag = tag, .size_bytes = size_bytes};
  fw_slot* slot = NULL;
  fw_view view;
  must(fw_stream_claim(stream, FW_FOR_EVER, 0, &slot));
  must(fw_slot_view(slot, &view, sizeof view));
  must(fw_slot_publish(slot, &info));
  fw_slot_unref(slot);
}

static void send_all(const struct plan* plan, int tell_port) {
  const fw_option listen = {"listen", "127.0.0.1:0"};
  const fw_settings of_sender = {sizeof of_sender, &listen, 1, NULL, NULL};
  const fw_option options[] = {{"delivery", "every"}, {"slots", plan->slots}, {"viewers", "1"}};
  const fw_settings of_stream = {sizeof of_stream, options, 3, NULL, NULL};
  fw_sender* sender = NULL;
  fw_stream* stream = NULL;
  fw_format format;
  uint16_t port = 0;
  must(fw_sender_create(&of_sender, &sender));
  must(fw_sender_add_stream(sender, "speed", &of_stream, &stream));
  must(fw_sender_start(sender));
  must(fw_sender_port(sender, &port));
  must(fw_format_init(&format, sizeof format, FW_PIXEL_BYTES, plan->size_bytes, 1));
  must(fw_stream_begin(stream, &format, 0, NULL));
  if (write(tell_port, &port, sizeof port) != sizeof port) {
    exit(1);
  }
  publish_one(stream, 0, warm_up_tag);
  for (int i = atoi(plan->slots); i > 0; --i) {
    publish_one(stream, 1, warm_up_tag);
  }
  for (uint64_t i = 0; i < plan->count; ++i) {
    publish_one(stream, 0, 0);
  }
  must(fw_sender_drain(sender, FW_FOR_EVER));
  fw_sender_destroy(sender);
}

static void receive_all(const struct plan* plan, uint16_t port) {
  const fw_option options[] = {{"transport", plan->transport}, {"read", "caller"}};
  const fw_settings settings = {sizeof settings, options, 2, NULL, NULL};
  char source[32];
  fw_receiver* receiver = NULL;
  fw_frame* frame = NULL;
  int64_t begun_ns = 0;
  int64_t received_ns = 0;
  uint64_t count = 0;
  fw_result result;
  snprintf(source, sizeof source, "127.0.0.1:%u", port);
  must(fw_receiver_create(source, &settings, &receiver));
  while ((result = fw_receiver_acquire(receiver, FW_FOR_EVER, &frame)) == FW_OK) {
    fw_view view;
    must(fw_frame_view(frame, &view, sizeof view));
    if (view.tag != warm_up_tag) {
      begun_ns = count++ == 0 ? view.begun_ns : begun_ns;
      received_ns = view.received_ns;
    }
    fw_frame_unref(frame);
  }
  if (result != FW_ENDED || count != plan->count) {
    fprintf(stderr, "library_speed: %llu messages came: %s\n", (unsigned long long)count, fw_message());
    exit(1);
  }
  printf("%.0f\n", (double)count * 1e9 / (double)(received_ns - begun_ns));
  fflush(stdout);
  fw_receiver_destroy(receiver);
}

int main(int argc, char** argv) {
  int ports[2];
  if (argc != 5) {
    fprintf(stderr, "usage: library_speed TRANSPORT SIZE COUNT SLOTS\n");
    return 2;
  }
  const struct plan plan = {argv[1], (uint32_t)strtoul(argv[2], NULL, 10), strtoull(argv[3], NULL, 10), argv[4]};
  if (pipe(ports) != 0) {
    return 1;
  }
  const pid_t child = fork(); /* before there is any thread */
  if (child == 0) {
    uint16_t port = 0;
    if (read(ports[0], &port, sizeof port) != sizeof port) {
      _exit(1);
    }
    receive_all(&plan, port);
    _exit(0);
  }
  send_all(&plan, ports[1]);
  int status = 0;
  waitpid(child, &status, 0);
  return status == 0 ? 0 : 1;
}
