#include "viewer/shader_stream.hpp"

#include <exception>
#include <utility>

#include "gl/scene_renderer.hpp"

namespace framewire {

namespace {

/// What framewire-send takes, too.
constexpr Size usual_size{3840, 2160};

StreamFormat format_of(const ShaderSource& source, Size viewer_size) {
  const Size asked = source.size.width > 0 ? source.size : viewer_size;
  const Size size = asked.width > 0 ? asked : usual_size;
  return {.layout = packed_layout(PixelFormat::rgb0, size.width, size.height),
          .colour = SceneRenderer::rgb_colour(),
          .frame_rate = rational_rate(source.frames_per_s),
          .field_order = FieldOrder::progressive};
}

/// As if a sender had begun its only session.
SubscriberStatus status_of(const ShaderSource& source, Size viewer_size) {
  SubscriberStatus status;
  status.state = SubscriberState::connected;
  status.start_line = "drawn by the viewer";
  status.session_number = ShaderStream::session_number;
  status.format = format_of(source, viewer_size);
  status.format_epoch = ShaderStream::epoch;
  status.format_session = ShaderStream::session_number;
  return status;
}

}  // namespace

ShaderStream::ShaderStream(const ViewerOptions& options, const ViewedSource& source, Size viewer_size,
                           const Clock& clock, const Interruption& interruption, Log& log, Listeners listeners)
    : ViewedStream(options,
                   {.peer_text = source.peer_text,
                    .status = status_of(*source.drawn, viewer_size),
                    .lost_message = {},
                    .is_local = true},
                   std::move(listeners)),
      source_(*source.drawn),
      status_(status_of(source_, viewer_size)),
      recorder_(std::nullopt, clock, log, interruption, statistics(), this->listeners().on_end),
      queue_(statistics(), FrameSelection::newest,
             {.on_frame = this->listeners().on_news, .on_room = [] {}, .on_done = this->listeners().on_end}) {
  statistics().await_first_frame(clock.now_ns());
}

bool ShaderStream::send_input(const InputBatch& batch, std::uint64_t session) noexcept {
  try {
    return session == session_number && inbox_.give_input(this, batch).empty();
  } catch (const std::exception&) {  // no memory
    return false;
  }
}

SubscriberCounts ShaderStream::counts() const {
  return {.frames_received = statistics().counts().frames_received, .sessions = 1};
}

void ShaderStream::leave_out(bool is_left_out) {
  if (is_left_out_.exchange(is_left_out) != is_left_out) {
    listeners().on_end();
  }
}

/// No bytes have moved. The queue is not done before the frame is settled, though no other follows.
void ShaderStream::frame_begun(std::int64_t now_ns) noexcept {
  statistics().frame_received(0, now_ns);
  queue_.hold();
  if (has_all_frames()) {
    queue_.close();
  }
}

void ShaderStream::fail(const std::string& reason, bool is_final, ExitStatus status) {
  has_failed_ = true;
  set_trouble(reason);
  if (is_final) {
    end(status);
  }
}

void ShaderStream::recover() {
  if (has_failed_.exchange(false)) {
    set_trouble("");
  }
}

}  // namespace framewire
