#include "transport/rdma/device_events.hpp"

namespace framewire {

namespace {

constexpr unsigned max_types = 64;

/// The connection that an event is for: that of the queue (null for a queue that is not ours), or `finder` for an event
/// of the whole device.
DeviceEvents* owner_of(const ibv_async_event& event, DeviceEvents* finder) noexcept {
  switch (event.event_type) {
    case IBV_EVENT_CQ_ERR:
      return static_cast<DeviceEvents*>(event.element.cq->cq_context);
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_COMM_EST:
    case IBV_EVENT_SQ_DRAINED:
    case IBV_EVENT_PATH_MIG:
    case IBV_EVENT_PATH_MIG_ERR:
    case IBV_EVENT_QP_LAST_WQE_REACHED:
      return static_cast<DeviceEvents*>(event.element.qp->qp_context);
    case IBV_EVENT_SRQ_ERR:
    case IBV_EVENT_SRQ_LIMIT_REACHED:
    case IBV_EVENT_WQ_FATAL:
      return nullptr;  // framewire creates no such object
    default:
      return finder;
  }
}

}  // namespace

bool DeviceEvent::is_fatal() const noexcept {
  return type == IBV_EVENT_CQ_ERR || type == IBV_EVENT_QP_FATAL || type == IBV_EVENT_QP_REQ_ERR ||
         type == IBV_EVENT_QP_ACCESS_ERR || type == IBV_EVENT_PATH_MIG_ERR || type == IBV_EVENT_DEVICE_FATAL;
}

LogLevel DeviceEvent::level() const noexcept {
  if (is_fatal() || type == IBV_EVENT_PORT_ERR) {
    return LogLevel::warning;
  }
  return type == IBV_EVENT_PORT_ACTIVE ? LogLevel::info : LogLevel::detail;
}

std::vector<DeviceEvent> DeviceEvents::take(ibv_context& device) {
  for (ibv_async_event event{}; ibv_get_async_event(&device, &event) == 0;) {
    const auto type = static_cast<unsigned>(event.event_type);
    if (auto* const owner = owner_of(event, this); owner != nullptr && type < max_types) {
      owner->pending_.fetch_or(std::uint64_t{1} << type, std::memory_order_relaxed);
    }
    ibv_ack_async_event(&event);
  }
  std::vector<DeviceEvent> events;
  const std::uint64_t pending = pending_.exchange(0, std::memory_order_relaxed);
  for (unsigned type = 0; type < max_types; ++type) {
    if ((pending >> type & 1) != 0) {
      events.push_back({static_cast<ibv_event_type>(type)});
    }
  }
  return events;
}

}  // namespace framewire
