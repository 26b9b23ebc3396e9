#include "sender/running_stream.hpp"

#include <exception>
#include <utility>

#include "base/failure_text.hpp"
#include "base/wait.hpp"
#include "sender/source_factory.hpp"

namespace framewire {

RunningStream::RunningStream(const SourceOptions& source, StreamOptions stream, Log& log,
                             const IsCancelled& is_cancelled)
    : stream_(std::move(stream)), source_(make_source(source, log, is_cancelled)) {
  source_->take_input(stream_.inbox());
  log.info("stream " + stream_.options().name + ": " + source_->describe());
}

RunningStream::~RunningStream() {
  stop();
  join();
}

void RunningStream::start(std::function<void()> on_end) {
  on_end_ = std::move(on_end);
  thread_ = std::thread([this] { run(); });
}

void RunningStream::run() noexcept {
  set_thread_name("fw-source");
  try {
    source_->run(stream_);
  } catch (const std::exception& error) {
    failure_ = failure_text(error);
  }
  stream_.finish();
  has_ended_ = true;
  on_end_();
}

void RunningStream::join() {
  if (thread_.joinable()) {
    thread_.join();
  }
}

std::string RunningStream::take_untold_failure() {
  if (is_failure_told_ || failure().empty()) {
    return {};
  }
  is_failure_told_ = true;
  return failure_;
}

StreamProgress RunningStream::progress(double seconds) {
  const std::uint64_t frames = stream_.frames_produced();
  const double fps = static_cast<double>(frames - frames_at_last_progress_) / seconds;
  frames_at_last_progress_ = frames;
  return {.name = stream_.options().name,
          .viewers = stream_.viewer_count(),
          .frames = frames,
          .fps = fps,
          .has_ended = has_ended()};
}

StreamResult RunningStream::result() const {
  return {.stream = &stream_, .source_losses = source_->losses(), .failure = failure(), .decoder = source_->decoder()};
}

}  // namespace framewire
