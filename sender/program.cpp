#include "sender/program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/wait.hpp"
#include "sender/source_factory.hpp"
#include "sender/statistics.hpp"

namespace framewire {

namespace {

/// After Ctrl-C viewers have this much time to receive the last frames.
constexpr std::int64_t shutdown_timeout_ns = ns_per_s;  // after Ctrl-C, for the last frames
constexpr std::int64_t live_interval_ns = ns_per_s;
constexpr std::int64_t plain_interval_ns = 10 * ns_per_s;

std::string describe(const SessionReport& report) {
  // A viewer that leaves confirms what it has received. The rest was on its way to it, and no link has lost it.
  std::string counts =
      fmt::format("{} sent, {} skipped, {} {}", report.counts.frames_sent, report.counts.frames_skipped,
                  report.frames_lost, report.bye_received && report.frames_lost > 0 ? "unconfirmed" : "lost");
  if (report.counts.frames_aborted > 0) {
    counts += fmt::format(", {} aborted", report.counts.frames_aborted);
  }
  if (report.pulls) {
    counts =
        report.bye_received ? fmt::format("{} pulled", report.frames_pulled) : "pulled an unknown number of frames";
  } else if (report.frames_pulled > 0) {  // sum of several sessions
    counts += fmt::format(", {} pulled", report.frames_pulled);
  }
  return fmt::format("viewer {} ({}): {}; {}", report.viewer, report.transport, counts, report.ending);
}

}  // namespace

SenderProgram::SenderProgram(const SenderOptions& options, Interruption& interruption, TerminalLog& log)
    : options_(options), interruption_(interruption), log_(log) {
  if (options_.common.stats_file) {
    require_writable(*options_.common.stats_file, "--stats");
  }
  std::uint32_t number = 0;
  for (const SourceOptions& source : options_.sources) {
    open_source(source, number++);
  }
  // Last, because no destructor would remove it if a source fails to open. run() checks for an interruption before it
  // waits.
  interruption_.set_wake([this] { signal_eventfd(wake_event_.get()); });
}

SenderProgram::~SenderProgram() {
  interruption_.set_wake({});
  stop_streams();
  for (const auto& running : running_) {
    if (running->thread.joinable()) {
      running->thread.join();
    }
  }
  service_.reset();  // its sessions must leave the streams before these go
}

void SenderProgram::open_source(const SourceOptions& source, std::uint32_t number) {
  auto running = std::make_unique<Running>();
  SourceOptions sized = source;
  if (options_.size_is_auto) {
    fit_to_machine(sized, log_);
  }
  running->source = make_source(sized, log_, [this] { return interruption_.is_requested(); });
  running->stream = std::make_unique<Stream>(StreamOptions{.name = source.stream_name,
                                                           .number = number,
                                                           .delivery = options_.delivery.value_or(Delivery::latest),
                                                           .slots_per_viewer = options_.slots_per_viewer,
                                                           .max_viewers = options_.max_viewers,
                                                           .max_frames = options_.common.max_frames,
                                                           .max_duration_ns = options_.common.max_duration_ns,
                                                           .allows_pull = options_.allows_pull});
  log_.info("stream " + source.stream_name + ": " + running->source->describe());
  running_.push_back(std::move(running));
}

void SenderProgram::start_service() {
  std::vector<Stream*> streams;
  for (const auto& running : running_) {
    streams.push_back(running->stream.get());
  }
  EndpointOptions endpoint = options_.endpoint;
  endpoint.stop_fd = interruption_.descriptor();
  service_ = std::make_unique<SenderService>(endpoint, streams, "framewire-send " FRAMEWIRE_VERSION, log_);
  log_.info(service_->describe());
  // Checked only if pull is allowed, because it examines every address of this machine.
  if (const std::string why = options_.allows_pull ? service_->pull_unavailable_reason() : ""; !why.empty()) {
    log_.warning("--allow-pull: nobody can pull from here: " + why);
  }
}

ExitStatus SenderProgram::run() {
  last_progress_ns_ = monotonic_ns();
  for (const auto& running : running_) {
    start_source(*running);
  }
  follow();
  return finish();
}

void SenderProgram::start_source(Running& running) {
  running.thread = std::thread([this, &running] {
    set_thread_name("fw-source");
    try {
      running.source->run(*running.stream);
    } catch (const std::exception& error) {
      running.failure = error.what();
    }
    running.stream->finish();
    running.is_done = true;
    signal_eventfd(wake_event_.get());
  });
}

void SenderProgram::follow() {
  while (!all_done() && !interruption_.is_requested() && service_->refusal().empty()) {
    const std::int64_t interval_ns = log_.is_terminal() ? live_interval_ns : plain_interval_ns;
    std::int64_t deadline_ns = last_progress_ns_ + interval_ns;
    if (monotonic_ns() >= deadline_ns) {
      show_progress();
      continue;
    }
    std::array descriptors{pollfd{.fd = wake_event_.get(), .events = POLLIN, .revents = 0}};
    wait_until(descriptors, std::min(deadline_ns, monotonic_ns() + ns_per_s));
    clear_eventfd(wake_event_.get());
  }
}

void SenderProgram::show_progress() {
  const std::int64_t now_ns = monotonic_ns();
  std::uint64_t frames = 0;
  std::uint32_t viewers = 0;
  for (const auto& running : running_) {
    frames += running->stream->frames_produced();
    viewers += running->stream->viewer_count();
  }
  const double seconds = static_cast<double>(now_ns - last_progress_ns_) / 1e9;
  const double fps = static_cast<double>(frames - frames_at_last_progress_) / seconds;
  if (log_.is_terminal() || viewers > 0) {
    log_.live(viewers == 0
                  ? std::string("waiting for a viewer")
                  : fmt::format("{} viewer{}   {:.1f} fps   {} frames", viewers, viewers == 1 ? "" : "s", fps, frames));
  }
  frames_at_last_progress_ = frames;
  last_progress_ns_ = now_ns;
}

void SenderProgram::stop_streams() {
  for (const auto& running : running_) {
    running->stream->stop();
  }
}

bool SenderProgram::all_done() const {
  return std::ranges::all_of(running_, [](const auto& running) { return running->is_done.load(); });
}

ExitStatus SenderProgram::finish() {
  stop_streams();
  for (const auto& running : running_) {
    running->thread.join();
  }
  // When its source ends, a stream waits for its viewers. An interruption, before or during that, limits the wait.
  interruption_.set_wake([this] { service_->interrupt(monotonic_ns() + shutdown_timeout_ns); });
  service_->drain(options_.delivery == Delivery::every ? INT64_MAX : monotonic_ns() + 5 * ns_per_s);
  interruption_.set_wake({});
  log_.end_live();
  const auto reports = service_->reports();
  summarise(reports);
  if (options_.common.stats_file) {
    write_stats_file(*options_.common.stats_file, statistics_json(reports));
  }
  for (const auto& running : running_) {
    if (!running->failure.empty()) {
      throw Error::failed(running->failure);
    }
  }
  if (const std::string refusal = service_->refusal(); !refusal.empty()) {
    throw Error::refused(refusal);
  }
  return ExitStatus::ok;
}

void SenderProgram::summarise(const std::vector<SessionReport>& reports) {
  for (const auto& running : running_) {
    const Stream& stream = *running->stream;
    std::string line = fmt::format("stream {}: {} frames in {:.1f} s", stream.options().name, stream.frames_produced(),
                                   static_cast<double>(stream.produced_over_ns()) / 1e9);
    if (stream.frames_dropped_at_source() != 0) {
      line += fmt::format(", {} dropped at the source", stream.frames_dropped_at_source());
    }
    if (const std::uint64_t losses = running->source->losses(); losses != 0) {
      line += fmt::format(", its input was lost {} time{}", losses, losses == 1 ? "" : "s");
    }
    log_.info(line);
  }
  for (const SessionReport& report : reports) {
    log_.info(describe(report));
  }
}

std::string SenderProgram::statistics_json(const std::vector<SessionReport>& reports) const {
  std::vector<const Stream*> streams;
  std::uint64_t losses = 0;
  for (const auto& running : running_) {
    streams.push_back(running->stream.get());
    losses += running->source->losses();
  }
  return sender_statistics_json(streams, losses, reports);
}

}  // namespace framewire
