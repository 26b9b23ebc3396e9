#include "library/sender.hpp"

#include <algorithm>
#include <utility>

#include "base/text.hpp"
#include "base/wait.hpp"
#include "library/blocked_signals.hpp"
#include "library/failure.hpp"
#include "library/handles.hpp"
#include "transport/session/messages.hpp"

namespace framewire {

namespace {

constexpr const char* drained = "the sender was drained, and can only be destroyed; make another one";

}  // namespace

// ---- Wakes ----

Waker::Waker(std::vector<std::shared_ptr<SourceStream>> streams) : streams_(std::move(streams)) {
  for (const auto& stream : streams_) {
    descriptors_.push_back({.fd = stream->wake_descriptor(), .events = POLLIN, .revents = 0});
  }
  descriptors_.push_back({.fd = stop_event_.get(), .events = POLLIN, .revents = 0});
  thread_ = std::thread([this] { run(); });
}

Waker::~Waker() {
  signal_eventfd(stop_event_.get());
  thread_.join();
}

void Waker::run() noexcept {
  set_thread_name("fw-wake");
  while (descriptors_.back().revents == 0) {
    wait_until(descriptors_, INT64_MAX);
    for (std::size_t i = 0; i < streams_.size(); ++i) {
      if (descriptors_[i].revents != 0) {
        streams_[i]->pass_wakes_on();
      }
    }
  }
}

// ---- Senders ----

Sender::Sender(EndpointOptions endpoint, std::shared_ptr<ProgramLog> log)
    : endpoint_(std::move(endpoint)), log_(std::move(log)) {}

void Sender::ended(handles::Place& place) noexcept {
  delete this;
  place.vacate();
  handles::the_table().give_back(place);
}

std::shared_ptr<SourceStream> Sender::add_stream(StreamOptions options, fw_stream*& handle) {
  const std::scoped_lock lock(mutex_);
  if (is_drained_) {
    throw Failure(FW_ERROR_STATE, std::string("fw_sender_add_stream(): ") + drained);
  }
  if (service_) {
    throw Failure(FW_ERROR_STATE, "fw_sender_add_stream(): the sender was started before; add its streams first");
  }
  const auto is_same = [&](const Offered& one) { return one.stream->stream().options().name == options.name; };
  if (std::ranges::any_of(streams_, is_same)) {
    throw Failure(FW_ERROR_ARGUMENT,
                  "fw_sender_add_stream(): there is a stream " + quote(options.name) + " already; take another name");
  }
  if (streams_.size() >= max_offered_streams) {
    throw Failure(FW_ERROR_ARGUMENT, "fw_sender_add_stream(): one sender offers at most " +
                                         std::to_string(max_offered_streams) + " streams; make another sender");
  }
  options.number = static_cast<std::uint32_t>(streams_.size());
  const auto stream = std::make_shared<SourceStream>(std::move(options));
  streams_.reserve(streams_.size() + 1);
  handle = SourceStream::open(stream);
  streams_.push_back({stream, handle});
  return stream;
}

void Sender::start() {
  std::unique_lock lock(mutex_);
  if (is_drained_) {
    throw Failure(FW_ERROR_STATE, std::string("fw_sender_start(): ") + drained);
  }
  if (service_) {
    throw Failure(FW_ERROR_STATE, "fw_sender_start(): the sender was started before");
  }
  if (streams_.empty()) {
    throw Failure(FW_ERROR_STATE, "fw_sender_start(): the sender has no stream; call fw_sender_add_stream() first");
  }
  std::vector<Stream*> offered;
  std::vector<std::shared_ptr<SourceStream>> kept;
  for (const Offered& one : streams_) {
    offered.push_back(&one.stream->stream());
    kept.push_back(one.stream);
  }
  const BlockedSignals blocked;
  const auto refuse_all = [kept] {
    for (const auto& stream : kept) {
      stream->refuse();
    }
  };
  auto waker = std::make_unique<Waker>(kept);
  auto service =
      std::make_unique<SenderService>(endpoint_, offered, "libframewire " FRAMEWIRE_VERSION, *log_, refuse_all);
  // Streams and log outlive the service, also where another thread still uses it while the sender is destroyed. Streams
  // know it by a weak_ptr, which would keep what this function has.
  service_ = {service.release(), [streams = std::move(kept), log = log_](const SenderService* ended) mutable {
                delete ended;
                streams.clear();
                log.reset();
              }};
  for (const Offered& one : streams_) {
    one.stream->offered_by(service_);
  }
  waker_ = std::move(waker);
  const std::string description = service_->describe();
  lock.unlock();  // the log function is the program's
  log_->info(description);
}

std::uint16_t Sender::port() const {
  const std::scoped_lock lock(mutex_);
  if (!service_) {
    throw Failure(FW_ERROR_STATE, "fw_sender_port(): the sender was not started; call fw_sender_start() first");
  }
  return service_->port();
}

fw_result Sender::drain(std::int64_t timeout_ns) {
  std::shared_ptr<SenderService> service;
  {
    const std::scoped_lock lock(mutex_);
    service = service_;
    is_drained_ = true;
    for (const Offered& one : streams_) {
      one.stream->finish(false);
    }
  }
  const std::int64_t deadline_ns = timeout_ns == 0 ? monotonic_ns() : deadline_of(timeout_ns);
  return !service || service->drain(deadline_ns) ? FW_OK : FW_NOTHING;
}

void Sender::end() noexcept {
  std::shared_ptr<SenderService> service;
  std::unique_ptr<Waker> waker;  // its end joins a thread that needs no lock of this
  {
    const std::scoped_lock lock(mutex_);
    for (const Offered& one : streams_) {
      one.stream->finish(true);
      end_handle<SourceStream>(one.handle);
    }
    service = std::move(service_);
    waker = std::move(waker_);
  }
  if (service) {
    service->interrupt(monotonic_ns());
    service.reset();  // here, or where another thread uses it
  }
  log_->silence();
  const std::scoped_lock lock(mutex_);
  streams_.clear();
}

}  // namespace framewire
