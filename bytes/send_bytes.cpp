#include "bytes/send_bytes.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "base/clock.hpp"
#include "base/text.hpp"
#include "bytes/byte_protocol.hpp"
#include "bytes/digest.hpp"
#include "bytes/input.hpp"
#include "bytes/progress.hpp"
#include "bytes/rate_limiter.hpp"
#include "bytes/read_ahead.hpp"
#include "bytes/run_with_statistics.hpp"
#include "command/json_text.hpp"
#include "transport/address.hpp"
#include "transport/endpoint_options.hpp"
#include "transport/session/sender_service.hpp"
#include "transport/stream.hpp"

namespace framewire {

namespace {

constexpr std::int64_t shutdown_timeout_ns = ns_per_s;          // after Ctrl-C
constexpr std::int64_t longest_last_attempt_ns = 2 * ns_per_s;  // what dials when the time is over has so much more
constexpr std::size_t chunks_read = 3;                          // one is read while two wait to be sent
constexpr std::size_t digest_step_bytes = 128 << 10;

/// One run: one stream to one receiver. Belongs to the main thread; the interruption calls stop() on its own thread.
class SendBytes {
 public:
  SendBytes(const SendBytesOptions& options, Interruption& interruption, TerminalLog& log);
  ~SendBytes() { interruption_.set_wake({}); }
  SendBytes(const SendBytes&) = delete;
  SendBytes& operator=(const SendBytes&) = delete;

  ExitStatus run();
  [[nodiscard]] std::string statistics(const std::string& error) const;

 private:
  void begin_epoch();
  void wait_for_receiver();
  struct Chunk {
    std::size_t bytes = 0;
    bool is_end = false;
    std::optional<std::uint64_t> digest{};  // of all bytes up to its end
    FileRange file{};
  };
  ReadState pump();
  ReadState pump_chunks();
  ReadState pump_file();
  bool add_digest(std::uint64_t offset_bytes, std::uint64_t bytes);
  std::optional<ClaimedSlot> claim();
  bool send(ClaimedSlot slot, const Chunk& chunk);
  void publish(ClaimedSlot slot, const Chunk& chunk);
  void publish_end(ReadState state);
  [[nodiscard]] Error lost_receiver(const std::string& why);
  [[nodiscard]] Receipt receipt(const SessionReport& session);
  void require_written(const Receipt& said) const;
  void report();
  void end_progress() noexcept;
  [[nodiscard]] bool still_running() const noexcept { return !stream_.is_stopping(); }
  /// The sink's time is from the receiver's receipt.
  [[nodiscard]] TransferWaits waits() const noexcept {
    return {.source_s = static_cast<double>(input_.spent_ns()) / 1e9,
            .wire_s = static_cast<double>(wire_ns_) / 1e9,
            .limit_s = static_cast<double>(limit_ns_) / 1e9,
            .sink_s = said_ ? said_->sink_seconds : 0};
  }

  const SendBytesOptions& options_;
  Interruption& interruption_;
  TerminalLog& log_;
  Input input_;
  Stream stream_;
  std::optional<RunningDigest> digest_;
  std::vector<std::byte> digested_{};  // a part of the file, while sendfile() sends it
  RateLimiter rate_limiter_;
  Progress progress_;
  std::uint64_t sent_bytes_ = 0;
  std::string transport_{};        // of the session, once it has ended
  std::optional<Receipt> said_{};  // from its bye
  std::string source_error_;       // why the input is incomplete
  bool has_said_end_ = false;
  bool sends_file_ = false;               // by sendfile()
  std::int64_t wire_ns_ = 0;              // waiting for a free slot, and publishing to the link
  std::int64_t limit_ns_ = 0;             // waiting because of --limit
  std::optional<SenderService> service_;  // last member: destroyed first, so that its sessions leave the stream
};

/// `last`: the last attempt to dial. The log has said already that nothing listens there.
Error no_receiver(const HostPort& at, const DialFailure& last) {
  if (last.why.empty() || last.absence == PeerAbsence::nothing_listens) {
    const std::string listen = at.port == default_bytes_port ? "" : " --listen '*:" + std::to_string(at.port) + "'";
    return Error::lost_peer("no receiver came at " + format_host_port(at) + "; start one there with rdrecv" + listen +
                            " > FILE");
  }
  return Error::lost_peer("no receiver came: " + last.why);
}

StreamOptions stream_options(const SendBytesOptions& options, const Input& input) {
  return {.name = "bytes",
          .delivery = Delivery::every,
          .slots_per_viewer = options.slots,
          .max_viewers = 1,
          .ends_with_viewers = true,
          .receiver_label = "receiver",
          .receiver_program = "rdrecv",
          .logs_session_ends = false,
          .source_file = input.identity()};
}

SendBytes::SendBytes(const SendBytesOptions& options, Interruption& interruption, TerminalLog& log)
    : options_(options),
      interruption_(interruption),
      log_(log),
      input_(options.input, [this] { return stream_.is_stopping(); }),
      stream_(stream_options(options, input_)),
      rate_limiter_(options.limit_bytes_per_s),
      progress_(options.hooks.progress ? options.hooks.progress
                : options.is_verbose   ? live_line(log, input_.size_bytes())
                                       : SayProgress()) {
  if (options.takes_digest) {
    digest_.emplace();
  }
  // Before the stream is offered: a peer that knows its format can try a link.
  begin_epoch();
  EndpointOptions endpoint = options.endpoint;
  endpoint.stop_fd = interruption.descriptor();
  service_.emplace(endpoint, std::vector<Stream*>{&stream_}, "rdsend " FRAMEWIRE_VERSION, log);
  interruption_.set_wake([this] {
    stream_.stop();
    service_->interrupt(monotonic_ns() + shutdown_timeout_ns);
  });
}

/// Allocating the pool may take a while: it can be gigabytes. Throws Error if interrupted meanwhile.
void SendBytes::begin_epoch() {
  struct EndOfWake {
    Interruption& interruption;
    ~EndOfWake() { interruption.set_wake({}); }
  };
  const EndOfWake end_of_wake{interruption_};
  interruption_.set_wake([this] { stream_.stop(); });
  stream_.begin_epoch({.layout = bytes_layout(options_.slot_bytes), .colour = {}});
  if (stream_.is_stopping()) {
    throw Error::failed("interrupted before a receiver came");
  }
}

ExitStatus SendBytes::run() {
  if (options_.hooks.listening && options_.endpoint.listen) {
    options_.hooks.listening(service_->port());
  }
  if (options_.is_verbose && options_.endpoint.listen) {
    log_.info(service_->describe());
  }
  wait_for_receiver();
  if (options_.hooks.connected && stream_.has_viewer()) {  // has_viewer() is false if the session ended before it began
    options_.hooks.connected("", [this] { return still_running(); });
  }
  const ReadState state = pump();
  if (state == ReadState::ended || state == ReadState::failed) {
    publish_end(state);
  }
  end_progress();
  stream_.finish();
  service_->drain(INT64_MAX);  // no deadline: a receiver may take long to write, and a silent one is detected as lost
  const auto reports = service_->reports();
  transport_ = reports.empty() ? "" : reports.front().transport;
  if (interruption_.is_requested() &&
      (reports.empty() || reports.front().viewer_statistics.empty() || !has_said_end_)) {
    if (!input_.error().empty()) {
      throw Error::failed(input_.error());
    }
    throw Error::failed("interrupted after " + format_bytes(sent_bytes_) +
                        (has_said_end_ ? ", which was all; whether the receiver has written it is not known"
                                       : "; the receiver knows that this is not all"));
  }
  if (reports.empty()) {
    throw lost_receiver("");
  }
  said_ = receipt(reports.front());
  report();
  if (!source_error_.empty()) {
    throw Error::failed(source_error_);
  }
  require_written(*said_);
  if (!has_said_end_) {
    throw Error::failed("the receiver left after " + format_bytes(sent_bytes_) +
                        ", before it was told that this was all");
  }
  return ExitStatus::ok;
}

void SendBytes::end_progress() noexcept {
  progress_.end();
  log_.end_live();
}

void SendBytes::wait_for_receiver() {
  if (options_.connect_timeout_ns < 0) {
    stream_.wait_for_viewer();
  }
  const std::int64_t begun_ns = monotonic_ns();
  for (;; stream_.sleep_until(monotonic_ns() + ns_per_ms)) {
    // Whether it dials is asked first: what an attempt came to is there once it is over.
    const std::int64_t late_ns = monotonic_ns() - begun_ns - options_.connect_timeout_ns;
    const bool is_late = options_.connect_timeout_ns >= 0 && late_ns >= 0 &&
                         (!service_->is_dialling() || late_ns >= longest_last_attempt_ns);
    if (stream_.has_viewer() || stream_.is_stopping()) {
      break;
    }
    if (const std::string refusal = service_->refusal(); !refusal.empty()) {
      throw Error::refused(refusal);
    }
    if (is_late && stream_.viewer_count() == 0) {
      if (options_.endpoint.listen) {
        throw Error::lost_peer("no receiver came");
      }
      throw no_receiver(*options_.endpoint.dial, service_->last_dial_failure());
    }
  }
  if (interruption_.is_requested() && !stream_.has_viewer()) {
    throw Error::failed("interrupted before a receiver came");
  }
}

/// Returns how reading ended: `stopped` if the receiver is gone or the user interrupted.
ReadState SendBytes::pump() {
  // The bytes of a file need not pass through this process: sendfile() sends them from the page cache.
  const ReadState state = stream_.supports_sendfile() ? pump_file() : ReadState::more;
  return state == ReadState::more ? pump_chunks() : state;
}

ReadState SendBytes::pump_chunks() {
  ReadAhead ahead(input_, digest_ ? &*digest_ : nullptr, rate_limiter_.max_at_once());
  for (;;) {
    while (ahead.in_flight() < chunks_read) {
      auto slot = ahead.in_flight() == 0 ? claim() : stream_.claim_now();
      if (!slot) {
        break;
      }
      ahead.give(std::move(*slot));
    }
    if (ahead.in_flight() == 0) {
      return ReadState::stopped;
    }
    ReadAhead::Chunk got = ahead.take();
    if (got.read.bytes > 0 && !send(std::move(got.slot), {.bytes = got.read.bytes, .digest = got.digest})) {
      return ReadState::stopped;
    }
    if (got.read.state != ReadState::more) {
      return got.read.state;
    }
  }
}

/// Sends a regular file to its end, or until somebody writes to it, then returns `more`. What is written between the
/// digest and sendfile() would reach the receiver with a digest that is not its own; while a file changes, its bytes
/// are copied instead.
ReadState SendBytes::pump_file() {
  while (!digest_ || input_.is_unchanged()) {
    auto slot = claim();
    if (!slot) {
      return ReadState::stopped;
    }
    std::uint64_t bytes = std::min<std::uint64_t>(slot->bytes().size(), rate_limiter_.max_at_once());
    const FileRange file = input_.skip(bytes);
    if (!file.is_there()) {
      return ReadState::more;
    }
    if (digest_ && !add_digest(file.offset_bytes, bytes)) {
      return ReadState::failed;
    }
    sends_file_ = true;
    const Chunk chunk{.bytes = bytes, .digest = digest_ ? std::optional(digest_->value()) : std::nullopt, .file = file};
    if (!send(std::move(*slot), chunk)) {
      return ReadState::stopped;
    }
  }
  return ReadState::more;
}

/// Digests a part of the file through a buffer that stays in the processor's cache.
bool SendBytes::add_digest(std::uint64_t offset_bytes, std::uint64_t bytes) {
  digested_.resize(digest_step_bytes);
  for (const std::uint64_t end = offset_bytes + bytes; offset_bytes < end;) {
    const auto part = std::span(digested_).first(std::min<std::uint64_t>(digested_.size(), end - offset_bytes));
    if (!input_.read_skipped(offset_bytes, part)) {
      return false;
    }
    digest_->add(part);
    offset_bytes += part.size();
  }
  return true;
}

std::optional<ClaimedSlot> SendBytes::claim() {
  const std::int64_t begun_ns = monotonic_ns();
  auto slot = stream_.claim();
  wire_ns_ += monotonic_ns() - begun_ns;
  return slot;
}

/// Returns false if the stream stops.
bool SendBytes::send(ClaimedSlot slot, const Chunk& chunk) {
  const std::int64_t begun_ns = monotonic_ns();
  publish(std::move(slot), chunk);
  const std::int64_t sent_ns = monotonic_ns();
  wire_ns_ += sent_ns - begun_ns;
  sent_bytes_ += chunk.bytes;
  progress_.add(chunk.bytes, begun_ns);
  const bool still_running = stream_.sleep_until(rate_limiter_.after(chunk.bytes, sent_ns));
  limit_ns_ += monotonic_ns() - sent_ns;
  return still_running;
}

void SendBytes::publish(ClaimedSlot slot, const Chunk& chunk) {
  ChunkTag tag{.is_end = chunk.is_end};
  if (chunk.digest) {
    tag.check = static_cast<std::uint32_t>(*chunk.digest);
  }
  const FrameInfo info{.pts_ns = static_cast<std::int64_t>(sent_bytes_),
                       .user_tag = encode(tag),
                       .layout = bytes_layout(chunk.bytes),
                       .file = chunk.file};
  stream_.publish(std::move(slot), info);
}

void SendBytes::publish_end(ReadState state) {
  EndRecord record{.bytes = sent_bytes_};
  if (digest_ && state == ReadState::ended) {
    record.digest = digest_->value();
  }
  if (state == ReadState::failed) {
    source_error_ = input_.error();
  } else if (options_.hooks.source_result) {
    source_error_ = options_.hooks.source_result([this] { return still_running(); });
  }
  record.error = source_error_;
  const std::string text = to_json_text(record);
  if (auto slot = stream_.claim()) {
    copy_bytes(std::as_bytes(std::span(text)), slot->bytes());
    publish(std::move(*slot), {.bytes = text.size(), .is_end = true, .digest = record.digest});
    has_said_end_ = true;
  }
}

/// The kernel may be the first to notice, within sendfile(), that the file was truncated or cannot be read. The
/// connection is unusable then, so the real cause is reported instead.
Error SendBytes::lost_receiver(const std::string& why) {
  return sends_file_ && input_.has_failed_behind(pool_slots_for(1, options_.slots) * options_.slot_bytes)
             ? Error::failed(input_.error())
             : Error::lost_peer("lost the receiver after " + format_bytes(sent_bytes_) + why);
}

Receipt SendBytes::receipt(const SessionReport& session) {
  if (session.viewer_statistics.empty()) {
    if (session.was_refused && sent_bytes_ == 0) {
      throw Error::refused(session.ending);
    }
    throw lost_receiver(": " + session.ending);
  }
  return receipt_from(session.viewer_statistics);
}

void SendBytes::require_written(const Receipt& said) const {
  if (said.reader_left) {
    throw ReaderLeft("the receiver ended after " + format_bytes(said.bytes) + ": " + said.error);
  }
  if (!said.error.empty()) {
    throw PeerFailed("the receiver failed after " + format_bytes(said.bytes) + ": " + said.error);
  }
  if (said.bytes != sent_bytes_) {
    throw Error::failed("the receiver wrote " + std::to_string(said.bytes) + " bytes of " +
                        std::to_string(sent_bytes_));
  }
  // The digest also covers what was read ahead and not sent, so compare only after the end record.
  if (has_said_end_ && digest_ && said.digest != digest_->value()) {
    throw Error::failed("the receiver's digest is another one: what it wrote is not what was sent");
  }
}

void SendBytes::report() {
  progress_.complete();
  if (options_.hooks.ended) {
    options_.hooks.ended(
        {.bytes = sent_bytes_, .seconds = progress_.seconds(), .transport = transport_, .waits = waits()});
  }
  if (options_.is_verbose) {
    log_.info(bandwidth_text(sent_bytes_, progress_.seconds(), transport_, bottleneck_of(waits())));
  }
}

std::string SendBytes::statistics(const std::string& error) const {
  const double seconds = progress_.seconds();
  const TransferWaits waited = waits();
  using Json = nlohmann::ordered_json;
  const Json stats{{"bytes", sent_bytes_},
                   {"bytes_written", said_ ? Json(said_->bytes) : Json(nullptr)},
                   {"seconds", seconds},
                   {"gigabytes_per_second", gigabytes_per_second(sent_bytes_, seconds)},
                   {"transport", text_or_null(transport_)},
                   {"source_seconds", waited.source_s},
                   {"wire_seconds", waited.wire_s},
                   {"limit_seconds", waited.limit_s},
                   {"sink_seconds", said_ ? Json(said_->sink_seconds) : Json(nullptr)},
                   {"bottleneck", said_ ? Json(name(bottleneck_of(waited))) : Json(nullptr)},
                   {"durable", said_ ? Json(said_->is_durable) : Json(nullptr)},
                   {"digest", text_or_null(digest_ && error.empty() ? digest_text(digest_->value()) : "")},
                   {"error", text_or_null(error)}};
  return to_line(stats);
}

}  // namespace

ExitStatus send_bytes(const SendBytesOptions& options, Interruption& interruption, TerminalLog& log) {
  return run_with_statistics<SendBytes>(options, interruption, log);
}

}  // namespace framewire
