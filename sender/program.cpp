#include "sender/program.hpp"

#include <algorithm>
#include <array>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/wait.hpp"
#include "command/named_files.hpp"
#include "sender/source_factory.hpp"
#include "sender/statistics.hpp"

namespace framewire {

namespace {

constexpr std::int64_t shutdown_timeout_ns = ns_per_s;  // after Ctrl-C, for the last frames
constexpr std::int64_t live_interval_ns = ns_per_s;
constexpr std::int64_t plain_interval_ns = 10 * ns_per_s;

}  // namespace

SenderProgram::SenderProgram(const SenderOptions& options, Interruption& interruption, TerminalLog& log)
    : options_(options),
      interruption_(interruption),
      log_(log),
      memory_(options.memory, {.sessions = {&options.endpoint}}) {
  memory_.log_note(log_);
  if (options_.common.stats_file) {
    require_writable(*options_.common.stats_file, "--stats");
  }
  for (const SourceOptions& source : options_.sources) {
    open_stream(source);
  }
  // Last, because no destructor would remove it if a source fails to open. run() checks for an interruption before it
  // waits.
  interruption_.set_wake([this] { signal_eventfd(wake_event_.get()); });
}

SenderProgram::~SenderProgram() {
  interruption_.set_wake({});
  stop_streams();
  for (const auto& stream : streams_) {
    stream->join();
  }
  service_.reset();  // its sessions must leave the streams before these go
}

StreamOptions SenderProgram::stream_options(const SourceOptions& source) const {
  return {.name = source.stream_name,
          .number = static_cast<std::uint32_t>(streams_.size()),
          .delivery = options_.delivery.value_or(Delivery::latest),
          .slots_per_viewer = options_.slots_per_viewer,
          .max_viewers = options_.max_viewers,
          .max_frames = options_.common.max_frames,
          .max_duration_ns = options_.common.max_duration_ns,
          .allows_pull = options_.allows_pull,
          .memory = &memory_.kind(),
          .slices = source.slices};
}

void SenderProgram::open_stream(const SourceOptions& source) {
  SourceOptions sized = source;
  sized.memory = &memory_.kind();
  sized.open_device_memory = memory_of_device;
  if (options_.size_is_auto) {
    fit_to_machine(sized, options_.sources, log_);
  }
  streams_.push_back(std::make_unique<RunningStream>(sized, stream_options(source), log_,
                                                     [this] { return interruption_.is_requested(); }));
}

void SenderProgram::start_service() {
  std::vector<Stream*> offered;
  for (const auto& stream : streams_) {
    offered.push_back(&stream->stream());
  }
  open_ports(offered);
  EndpointOptions endpoint = options_.endpoint;
  endpoint.stop_fd = interruption_.descriptor();
  service_ = std::make_unique<SenderService>(endpoint, offered, "framewire-send " FRAMEWIRE_VERSION, log_);
  log_.info(service_->describe());
  // Checked only if pull is allowed, because it examines every address of this machine.
  if (const std::string why = options_.allows_pull ? service_->pull_unavailable_reason() : ""; !why.empty()) {
    log_.warning("--allow-pull: nobody can pull from here: " + why);
  }
}

/// Before viewers come, who would be told that their input is not taken.
void SenderProgram::open_ports(std::span<Stream* const> streams) {
  if (options_.events) {
    events_ = std::make_unique<EventWriter>(*options_.events, streams, log_);
  }
  if (options_.messages) {
    messages_ = std::make_unique<SenderMessagePort>(*options_.messages, streams, log_);
  }
}

ExitStatus SenderProgram::run() {
  last_progress_ns_ = monotonic_ns();
  for (const auto& stream : streams_) {
    stream->start([this] { signal_eventfd(wake_event_.get()); });
  }
  follow();
  return finish();
}

void SenderProgram::follow() {
  while (!all_ended() && !interruption_.is_requested() && service_->refusal().empty()) {
    const std::int64_t interval_ns = log_.is_terminal() ? live_interval_ns : plain_interval_ns;
    std::int64_t deadline_ns = last_progress_ns_ + interval_ns;
    if (monotonic_ns() >= deadline_ns) {
      show_progress();
      continue;
    }
    std::array descriptors{pollfd{.fd = wake_event_.get(), .events = POLLIN, .revents = 0}};
    wait_until(descriptors, std::min(deadline_ns, monotonic_ns() + ns_per_s));
    clear_eventfd(wake_event_.get());
    tell_failures();
  }
}

void SenderProgram::show_progress() {
  const std::int64_t now_ns = monotonic_ns();
  const double seconds = static_cast<double>(now_ns - last_progress_ns_) / 1e9;
  std::vector<StreamProgress> progress;
  for (const auto& stream : streams_) {
    progress.push_back(stream->progress(seconds));
  }
  const auto is_watched = [](const StreamProgress& stream) { return stream.viewers > 0; };
  if (log_.is_terminal() || std::ranges::any_of(progress, is_watched)) {
    log_.live(live_line(progress));
  }
  last_progress_ns_ = now_ns;
}

/// Says at once why a stream has ended, while others go on. With one stream the program's error says it.
void SenderProgram::tell_failures() {
  if (streams_.size() == 1) {
    return;
  }
  for (const auto& stream : streams_) {
    if (const std::string failure = stream->take_untold_failure(); !failure.empty()) {
      log_.error("stream " + stream->stream().options().name + ": " + failure);
    }
  }
}

void SenderProgram::stop_streams() {
  for (const auto& stream : streams_) {
    stream->stop();
  }
}

bool SenderProgram::all_ended() const {
  return std::ranges::all_of(streams_, [](const auto& stream) { return stream->has_ended(); });
}

ExitStatus SenderProgram::finish() {
  stop_streams();
  for (const auto& stream : streams_) {
    stream->join();
  }
  tell_failures();
  await_viewers();
  log_.end_live();
  events_.reset();
  messages_.reset();
  const std::vector<SessionReport> reports = service_->reports();
  const std::vector<StreamResult> streams = results();
  for (const std::string& line : summary_lines(streams, reports)) {
    log_.info(line);
  }
  if (options_.common.stats_file) {
    write_stats_file(*options_.common.stats_file, sender_statistics_json(streams, reports));
  }
  throw_failure();
  return ExitStatus::ok;
}

/// When its source ends, a stream waits for its viewers. An interruption, before or during that, limits the wait.
void SenderProgram::await_viewers() {
  interruption_.set_wake([this] { service_->interrupt(monotonic_ns() + shutdown_timeout_ns); });
  service_->drain(options_.delivery == Delivery::every ? INT64_MAX : monotonic_ns() + 5 * ns_per_s);
  interruption_.set_wake({});
}

std::vector<StreamResult> SenderProgram::results() const {
  std::vector<StreamResult> results;
  for (const auto& stream : streams_) {
    results.push_back(stream->result());
  }
  return results;
}

void SenderProgram::throw_failure() const {
  if (const std::string failed = failure_summary(results()); !failed.empty()) {
    throw Error::failed(streams_.size() == 1 ? streams_.front()->failure() : failed);
  }
  if (const std::string refusal = service_->refusal(); !refusal.empty()) {
    throw Error::refused(refusal);
  }
}

}  // namespace framewire
