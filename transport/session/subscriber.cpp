#include "transport/session/subscriber.hpp"

#include <utility>

#include "transport/session/subscriber_implementation.hpp"

namespace framewire {

Subscriber::Subscriber(SubscriberOptions options, Log& log)
    : implementation_(std::make_unique<Implementation>(std::move(options), log)) {}
Subscriber::~Subscriber() = default;
std::optional<ReceivedFrame> Subscriber::next() {
  return implementation_->next();
}
void Subscriber::wait(std::int64_t deadline_ns, WaitMode mode) {
  implementation_->wait(deadline_ns, mode);
}
bool Subscriber::arm() {
  return implementation_->arm();
}
void Subscriber::silence() noexcept {
  implementation_->silence();
}
int Subscriber::descriptor() const noexcept {
  return implementation_->descriptor();
}
void Subscriber::confirm_epoch(std::uint64_t epochs_begun) noexcept {
  implementation_->confirm_epoch(epochs_begun);
}
void Subscriber::ask_render(const RenderRequest& request) noexcept {
  implementation_->outbox().ask_render(request);
}

void Subscriber::revoke_render(std::uint64_t id) noexcept {
  implementation_->outbox().revoke_render(id);
}

void Subscriber::release_camera() noexcept {
  implementation_->outbox().release_camera();
}

std::optional<RenderRequest> Subscriber::find_render(std::uint64_t id) const noexcept {
  return implementation_->outbox().find_render(id);
}

void Subscriber::ask_cadence(const CadenceRequest& request) noexcept {
  implementation_->ask_cadence(request);
}
bool Subscriber::send_input(const InputBatch& batch, std::uint64_t session_number) noexcept {
  return implementation_->outbox().send_input(batch, session_number);
}
bool Subscriber::send_message(const std::string& json) noexcept {
  return implementation_->outbox().send_message(json);
}
std::optional<std::string> Subscriber::take_message() {
  return implementation_->outbox().take_incoming();
}
void Subscriber::wake() noexcept {
  implementation_->wake();
}
SubscriberStatus Subscriber::status() const {
  return implementation_->status();
}
SubscriberCounts Subscriber::counts() const {
  return implementation_->counts();
}
std::uint16_t Subscriber::port() const noexcept {
  return implementation_->port();
}
std::uint64_t Subscriber::status_version() const noexcept {
  return implementation_->status_version();
}
Subscriber::ClockOffset Subscriber::clock_offset() const noexcept {
  return implementation_->clock_offset();
}
void Subscriber::close(const std::string& statistics_json) {
  implementation_->close(statistics_json);
}

}  // namespace framewire
