// Sends and receives in one thread, by an event loop of its own: only poll() waits.
//
//     c++ -std=c++17 event_loop.cpp -o event_loop $(pkg-config --cflags --libs framewire)
//     ./event_loop [ADDRESS:PORT [SOURCE]]
//
// It streams a square, which goes to where a viewer points (framewire view localhost/square --input). It also receives
// SOURCE, which is its own stream unless you name another: it points at it as a viewer does, and sends it messages.
#include <framewire/framewire.h>
#include <poll.h>
#include <sys/signalfd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>

namespace {

constexpr std::uint32_t width = 320;
constexpr std::uint32_t height = 240;
constexpr double square_pixels = 40;
constexpr std::chrono::milliseconds period{33};

// Exceptions suit this program better than results.
fw_result check(fw_result result) {
  if (result < 0) throw std::runtime_error(fw_message());
  return result;
}

struct End {
  void operator()(fw_sender* sender) const noexcept { fw_sender_destroy(sender); }
  void operator()(fw_slot* slot) const noexcept { fw_slot_unref(slot); }
  void operator()(fw_receiver* receiver) const noexcept { fw_receiver_destroy(receiver); }
  void operator()(fw_frame* frame) const noexcept { fw_frame_unref(frame); }
};
template <typename Handle>
using Owned = std::unique_ptr<Handle, End>;

class SquareSender {
 public:
  explicit SquareSender(const std::string& listen) {
    const fw_option option{"listen", listen.c_str()};
    const fw_settings settings{sizeof settings, &option, 1, nullptr, nullptr};
    fw_sender* sender = nullptr;
    check(fw_sender_create(&settings, &sender));
    sender_.reset(sender);
    check(fw_sender_add_stream(sender, "square", nullptr, &stream_));
    check(fw_sender_start(sender));
    fw_format format;
    check(fw_format_init(&format, sizeof format, FW_PIXEL_GRAY8, width, height));
    check(fw_stream_begin(stream_, &format, 0, nullptr));
  }

  int descriptor() const {
    int descriptor = -1;
    check(fw_stream_descriptor(stream_, &descriptor));
    return descriptor;
  }

  std::string address() const {
    std::uint16_t port = 0;
    check(fw_sender_port(sender_.get(), &port));
    return "localhost:" + std::to_string(port);
  }

  // Whether a picture was sent. If not, nobody watches or there is no room: the descriptor tells when to try again.
  bool send_picture() {
    fw_slot* claimed = nullptr;
    if (check(fw_stream_claim(stream_, 0, 0, &claimed)) != FW_OK) return false;
    const Owned<fw_slot> slot(claimed);
    fw_view view;
    check(fw_slot_view(claimed, &view, sizeof view));
    draw(view.plane[0]);
    return check(fw_slot_publish(claimed, nullptr)) == FW_OK;
  }

  // To be called when the descriptor is readable.
  void take_events() {
    fw_event event;
    while (check(fw_stream_next_event(stream_, &event, sizeof event)) == FW_OK) {
      if (event.type == FW_EVENT_POINTER && event.locked == 0) {
        x_ = event.x;
        y_ = event.y;
      } else if (event.type == FW_EVENT_MESSAGE) {
        std::printf("viewer %u says %s\n", static_cast<unsigned>(event.viewer_number), event.text);
        check(fw_stream_send(stream_, R"({"answer":"welcome"})"));
      }  // later versions may have events that this program does not know
    }
  }

 private:
  void draw(const fw_plane& plane) const {
    for (std::uint32_t y = 0; y < height; ++y) {
      auto* row = static_cast<std::uint8_t*>(plane.data) + std::size_t{y} * plane.pitch_bytes;
      for (std::uint32_t x = 0; x < width; ++x) {
        const bool is_inside = std::max(std::abs(x - x_), std::abs(y - y_)) < square_pixels / 2;
        row[x] = is_inside ? 255 : 64;
      }
    }
  }

  Owned<fw_sender> sender_;
  fw_stream* stream_ = nullptr;  // ends with the sender
  double x_ = width / 2.0;
  double y_ = height / 2.0;
};

class PointingReceiver {
 public:
  explicit PointingReceiver(const std::string& source) {
    fw_receiver* receiver = nullptr;
    check(fw_receiver_create(source.c_str(), nullptr, &receiver));
    receiver_.reset(receiver);
  }

  int descriptor() const {
    int descriptor = -1;
    check(fw_receiver_descriptor(receiver_.get(), &descriptor));
    return descriptor;
  }

  // To be called when the descriptor is readable. Whether the stream goes on.
  bool serve() {
    take_events();
    fw_frame* acquired = nullptr;
    fw_result result = FW_OK;
    while ((result = check(fw_receiver_acquire(receiver_.get(), 0, &acquired))) == FW_OK) {
      const Owned<fw_frame> frame(acquired);
      fw_view view;
      check(fw_frame_view(acquired, &view, sizeof view));
      if (++frames_ % 30 == 0) {
        std::printf("frame %u has %u x %u pixels\n", static_cast<unsigned>(view.sequence), view.width, view.height);
        point(view);
      }
    }
    return result != FW_ENDED;
  }

 private:
  void take_events() {
    fw_event event;
    while (check(fw_receiver_next_event(receiver_.get(), &event, sizeof event)) == FW_OK) {
      if (event.type == FW_EVENT_STATE) {
        std::printf("%s\n", event.text);
        if (event.state == FW_STATE_CONNECTED) check(fw_receiver_send(receiver_.get(), R"({"greeting":"hello"})"));
      } else if (event.type == FW_EVENT_MESSAGE) {
        std::printf("the sender says %s\n", event.text);
      }
    }
  }

  // Sends input as a viewer does: its pointer goes round the centre.
  void point(const fw_view& view) const {
    fw_event event{};
    event.struct_size = sizeof event;
    event.type = FW_EVENT_POINTER;
    event.x = view.width / 2.0 + view.width / 4.0 * std::cos(frames_ / 60.0);
    event.y = view.height / 2.0 + view.height / 4.0 * std::sin(frames_ / 60.0);
    // A source that takes no input, or takes it from another viewer, is no reason to end.
    if (fw_receiver_send_event(receiver_.get(), &event) < 0) std::printf("no input: %s\n", fw_message());
  }

  Owned<fw_receiver> receiver_;
  unsigned frames_ = 0;
};

// Blocks Ctrl-C, and returns a descriptor that tells of it. The library's own threads take no signals.
int descriptor_of_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  return signalfd(-1, &signals, SFD_CLOEXEC);
}

void run(const std::string& listen, const std::string& source) {
  using Clock = std::chrono::steady_clock;
  const int signals = descriptor_of_signals();
  SquareSender sender(listen);
  PointingReceiver receiver(source.empty() ? sender.address() + "/square" : source);
  std::printf("listening on %s\n", sender.address().c_str());
  sender.take_events();  // from the first call on viewers may send some
  Clock::time_point next_picture = Clock::now();
  bool waits_for_slot = false;
  while (true) {
    std::array<pollfd, 3> waits{
        {{signals, POLLIN, 0}, {receiver.descriptor(), POLLIN, 0}, {sender.descriptor(), POLLIN, 0}}};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(next_picture - Clock::now()).count();
    const int timeout_ms = waits_for_slot ? -1 : static_cast<int>(std::max(left, decltype(left){0}));
    if (poll(waits.data(), waits.size(), timeout_ms) < 0) continue;
    if (waits[0].revents != 0) return;
    if (waits[1].revents != 0 && !receiver.serve()) return;
    if (waits[2].revents != 0) {
      sender.take_events();
      waits_for_slot = false;
    }
    if (!waits_for_slot && Clock::now() >= next_picture) {
      waits_for_slot = !sender.send_picture();
      if (!waits_for_slot) next_picture = Clock::now() + period;
    }
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(argc > 1 ? argv[1] : "localhost:5290", argc > 2 ? argv[2] : "");
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "event_loop: %s\n", error.what());
    return 1;
  }
}
