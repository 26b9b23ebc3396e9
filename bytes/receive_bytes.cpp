#include "bytes/receive_bytes.hpp"

#include <unistd.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/clock.hpp"
#include "base/text.hpp"
#include "bytes/byte_protocol.hpp"
#include "bytes/digest.hpp"
#include "bytes/output.hpp"
#include "bytes/progress.hpp"
#include "bytes/run_with_statistics.hpp"
#include "command/json_text.hpp"
#include "command/named_files.hpp"
#include "command/standard_streams.hpp"
#include "transport/address.hpp"
#include "transport/session/subscriber.hpp"

namespace framewire {

namespace {

/// One run: one stream from one sender. Belongs to the main thread; the interruption only wakes it.
class ReceiveBytes {
 public:
  ReceiveBytes(const ReceiveBytesOptions& options, Interruption& interruption, TerminalLog& log);
  ~ReceiveBytes() { interruption_.set_wake({}); }
  ReceiveBytes(const ReceiveBytes&) = delete;
  ReceiveBytes& operator=(const ReceiveBytes&) = delete;

  ExitStatus run();
  [[nodiscard]] std::string statistics(const std::string& error) const;

 private:
  void receive();
  std::optional<ReceivedFrame> wait_for_frame(std::uint64_t seen_version);
  void end_progress() noexcept;
  void require_reader();
  void take(const ReceivedFrame& frame);
  void take_chunk(const ReceivedFrame& frame, const ChunkTag& tag);
  void take_end(std::span<const std::byte> payload);
  void note(const SubscriberStatus& status);
  void require_session(const SubscriberStatus& status) const;
  [[nodiscard]] Receipt receipt(const std::string& error, bool reader_left) const;
  void report();
  Output& output();
  [[nodiscard]] double waited_seconds() const noexcept { return static_cast<double>(waited_ns_) / 1e9; }
  [[nodiscard]] double sink_seconds() const noexcept {
    return output_ ? static_cast<double>(output_->spent_ns()) / 1e9 : 0;
  }

  const ReceiveBytesOptions& options_;
  Interruption& interruption_;
  TerminalLog& log_;
  std::optional<Output> output_;
  RunningDigest digest_;
  bool takes_digest_ = true;
  std::optional<EndRecord> end_;
  std::uint64_t received_bytes_ = 0;
  std::int64_t waited_ns_ = 0;
  std::string transport_;
  std::string waiting_message_;  // the last one that was logged
  Progress progress_;
  Subscriber subscriber_;
};

/// Checks the output before waiting for a sender.
void require_output(const ReceiveBytesOptions& options) {
  if (options.output != "-") {
    require_writable(options.output, "the file to write");
  } else if (!is_open_for_writing(STDOUT_FILENO)) {
    throw Error::failed(
        "standard output is closed, or not open for writing; name a FILE, or start it with rdrecv > FILE");
  }
}

Error no_sender(const HostPort& at) {
  return Error::lost_peer("no sender came at " + format_host_port(at) +
                          "; start one there with rdsend --listen '*:" + std::to_string(at.port) + "' FILE");
}

SubscriberOptions subscriber_options(const ReceiveBytesOptions& options, const Interruption& interruption) {
  require_output(options);
  EndpointOptions endpoint = options.endpoint;
  endpoint.stop_fd = interruption.descriptor();
  return {.endpoint = std::move(endpoint),
          .stream = {},
          .delivery = {},
          .retry_ns = options.connect_timeout_ns,
          .reconnect = false,
          .driver = Driver::program,
          .program = "rdrecv " FRAMEWIRE_VERSION};
}

ReceiveBytes::ReceiveBytes(const ReceiveBytesOptions& options, Interruption& interruption, TerminalLog& log)
    : options_(options),
      interruption_(interruption),
      log_(log),
      progress_(options.hooks.progress ? options.hooks.progress
                : options.is_verbose   ? live_line(log, {})
                                       : SayProgress()),
      subscriber_(subscriber_options(options, interruption), log) {
  interruption_.set_wake([this] { subscriber_.wake(); });
  if (options.is_verbose) {
    waiting_message_ = subscriber_.status().message;
    log_.info(waiting_message_);
  }
}

ExitStatus ReceiveBytes::run() {
  if (options_.hooks.listening && options_.endpoint.listen) {
    options_.hooks.listening(subscriber_.port());
  }
  try {
    receive();
    if (!end_->error.empty()) {
      throw PeerFailed("the sender's source failed after " + format_bytes(received_bytes_) + ": " + end_->error);
    }
    if (!output().finish(options_.is_durable)) {
      throw Error::failed(output().error());
    }
    progress_.complete();
  } catch (const Error& error) {
    end_progress();
    const bool reader_left = dynamic_cast<const ReaderLeft*>(&error) != nullptr;
    // A sender whose source failed knows that already. Any other sender fails with this error, too.
    subscriber_.close(to_json_text(receipt(end_ && !end_->error.empty() ? "" : error.what(), reader_left)));
    throw;
  }
  end_progress();
  subscriber_.close(to_json_text(receipt("", false)));
  report();
  return ExitStatus::ok;
}

/// Receives until the end record has arrived. Throws Error.
void ReceiveBytes::receive() {
  std::uint64_t seen_version = 0;
  while (!end_) {
    if (interruption_.is_requested()) {
      require_reader();
      throw Error::failed("interrupted after " + format_bytes(received_bytes_));
    }
    if (auto frame = subscriber_.next()) {
      take(*frame);
      continue;
    }
    if (const std::uint64_t version = subscriber_.status_version(); version != seen_version) {
      seen_version = version;
      const SubscriberStatus status = subscriber_.status();
      note(status);
      require_session(status);
    }
    require_reader();
    if (auto frame = wait_for_frame(seen_version)) {
      take(*frame);
    }
  }
}

/// Returns nothing after a short wait without a frame, when the status is no longer `seen_version`, or on Ctrl-C.
std::optional<ReceivedFrame> ReceiveBytes::wait_for_frame(std::uint64_t seen_version) {
  const std::int64_t begun_ns = monotonic_ns();
  const std::int64_t deadline_ns = begun_ns + ns_per_s / 4;
  std::int64_t now_ns = begun_ns;
  std::optional<ReceivedFrame> frame;
  do {
    subscriber_.wait(deadline_ns, options_.wait);
    frame = subscriber_.next();
    now_ns = monotonic_ns();
  } while (options_.wait == WaitMode::spin && !frame && now_ns < deadline_ns &&
           subscriber_.status_version() == seen_version && !interruption_.is_requested());
  if (received_bytes_ > 0) {
    waited_ns_ += now_ns - begun_ns;
  }
  return frame;
}

void ReceiveBytes::end_progress() noexcept {
  progress_.end();
  log_.end_live();
}

/// Throws if the output's reader has left: without this, that stays unnoticed while nothing is written.
void ReceiveBytes::require_reader() {
  const bool has_left = output_ ? output_->has_no_reader() : options_.output == "-" && has_no_reader(STDOUT_FILENO);
  const bool reader_closed =
      interruption_.is_requested() && options_.hooks.reader_closed && options_.hooks.reader_closed();
  if (has_left || reader_closed) {
    throw ReaderLeft("the reader of " + (options_.output == "-" ? "standard output" : quote(options_.output, 200)) +
                     " has gone");
  }
}

/// Logs once where the bytes come from and how they are protected. Before that, why a sender was turned away, or cannot
/// be reached.
void ReceiveBytes::note(const SubscriberStatus& status) {
  if (status.state == SubscriberState::waiting && status.message != waiting_message_ &&
      status.absence != PeerAbsence::to_come) {
    waiting_message_ = status.message;
    log_.line(options_.endpoint.listen ? LogLevel::warning : LogLevel::info, waiting_message_);
  }
  if (transport_.empty() && !status.start_line.empty()) {
    transport_ = status.transport;
    log_.info(status.start_line);
    if (options_.hooks.connected && status.state == SubscriberState::connected) {
      options_.hooks.connected(status.start_line, [this] { return !interruption_.is_requested(); });
    }
  }
}

void ReceiveBytes::require_session(const SubscriberStatus& status) const {
  switch (status.state) {
    case SubscriberState::waiting:
    case SubscriberState::connected:
      return;
    case SubscriberState::finished:
      throw PeerEnded("the sender ended after " + format_bytes(received_bytes_) +
                      " without saying that this was all; what is written is not complete");
    case SubscriberState::lost:
    case SubscriberState::failed:
      break;
  }
  if (received_bytes_ == 0) {
    if (options_.endpoint.dial && status.absence == PeerAbsence::nothing_listens) {
      throw no_sender(*options_.endpoint.dial);
    }
    const bool was_lost = !transport_.empty() && status.exit_status == ExitStatus::lost_peer;
    throw Error(status.exit_status, (was_lost ? "lost the sender before its first byte: " : "") + status.message);
  }
  throw Error::lost_peer("lost the sender after " + format_bytes(received_bytes_) + ": " + status.message +
                         "; what is written is not complete");
}

void ReceiveBytes::take(const ReceivedFrame& frame) {
  if (transport_.empty()) {
    note(subscriber_.status());
  }
  const FrameHeader& header = frame.header();
  const auto tag = decode_chunk_tag(header.user_tag);
  if (!tag || header.layout.format != PixelFormat::bytes) {
    throw Error::failed("the sender sends no bytes, or is of a version that this one does not know");
  }
  if (header.pts_ns != static_cast<std::int64_t>(received_bytes_)) {
    throw Error::failed("the sender's bytes do not follow one another: " + std::to_string(header.pts_ns) + " after " +
                        std::to_string(received_bytes_));
  }
  takes_digest_ = tag->check.has_value();
  if (tag->is_end) {
    take_end(frame.payload());
  } else {
    take_chunk(frame, *tag);
  }
}

void ReceiveBytes::take_chunk(const ReceivedFrame& frame, const ChunkTag& tag) {
  const std::int64_t begun_ns = monotonic_ns();
  const std::span<const std::byte> payload = frame.payload();
  if (tag.check) {
    digest_.add(payload);
    if (static_cast<std::uint32_t>(digest_.value()) != *tag.check) {
      throw Error::failed("the bytes between " + std::to_string(received_bytes_) + " and " +
                          std::to_string(received_bytes_ + payload.size()) +
                          " are not those that the sender read: they were changed on their way, or in its file");
    }
  }
  if (!output().write(payload)) {
    require_reader();
    throw Error::failed(output().error());
  }
  received_bytes_ += payload.size();
  progress_.add(payload.size(), begun_ns);
}

void ReceiveBytes::take_end(std::span<const std::byte> payload) {
  if (payload.size() > longest_end_record_bytes) {
    throw Error::failed("the sender's end record has " + std::to_string(payload.size()) + " bytes, more than " +
                        std::to_string(longest_end_record_bytes));
  }
  EndRecord record = end_record_from({reinterpret_cast<const char*>(payload.data()), payload.size()});
  if (record.bytes != received_bytes_) {
    throw Error::failed("the sender says that it sent " + std::to_string(record.bytes) + " bytes, but " +
                        std::to_string(received_bytes_) + " came");
  }
  if (record.digest && *record.digest != digest_.value()) {
    throw Error::failed("the digest of what came is not the sender's");
  }
  takes_digest_ = record.digest.has_value();
  end_ = std::move(record);
}

/// Opens the output, and truncates an old file, only after a sender has connected.
Output& ReceiveBytes::output() {
  if (!output_) {
    output_.emplace(
        options_.output, [this] { return interruption_.is_requested(); }, options_.appends,
        subscriber_.status().source_file);
  }
  return *output_;
}

Receipt ReceiveBytes::receipt(const std::string& error, bool reader_left) const {
  Receipt receipt{.bytes = output_ ? output_->written_bytes() : 0,
                  .is_durable = error.empty() && output_ && output_->is_durable(),
                  .error = error,
                  .sink_seconds = sink_seconds(),
                  .reader_left = reader_left};
  if (takes_digest_) {
    receipt.digest = digest_.value();
  }
  return receipt;
}

void ReceiveBytes::report() {
  if (options_.hooks.ended) {
    options_.hooks.ended({.bytes = received_bytes_,
                          .seconds = progress_.seconds(),
                          .transport = transport_,
                          .waits = {.wire_s = waited_seconds(), .sink_s = sink_seconds()}});
  }
  if (options_.is_verbose) {
    log_.info(received_text(received_bytes_, progress_.seconds(), transport_, sink_seconds() > waited_seconds()));
  }
}

std::string ReceiveBytes::statistics(const std::string& error) const {
  const double seconds = progress_.seconds();
  using Json = nlohmann::ordered_json;
  const Json stats{{"bytes", received_bytes_},
                   {"seconds", seconds},
                   {"gigabytes_per_second", gigabytes_per_second(received_bytes_, seconds)},
                   {"transport", text_or_null(transport_)},
                   {"waited_seconds", waited_seconds()},
                   {"sink_seconds", sink_seconds()},
                   {"durable", error.empty() && output_ && output_->is_durable()},
                   {"digest", text_or_null(takes_digest_ && error.empty() ? digest_text(digest_.value()) : "")},
                   {"error", text_or_null(error)}};
  return to_line(stats);
}

}  // namespace

ExitStatus receive_bytes(const ReceiveBytesOptions& options, Interruption& interruption, TerminalLog& log) {
  return run_with_statistics<ReceiveBytes>(options, interruption, log);
}

}  // namespace framewire
