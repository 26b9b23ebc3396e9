#include "tests/rdma_lab/failing_verbs.hpp"

#include <algorithm>
#include <deque>
#include <limits>
#include <mutex>
#include <utility>

namespace framewire::test {

namespace {

struct Book {
  std::mutex mutex;
  FailingCall failing;
  bool has_failed = false;
  std::map<std::string, int> calls;
  std::map<std::string, int> living;
  std::vector<unsigned> access;
  std::function<void(ibv_device_attr&)> lie;
  std::function<void(ibv_port_attr&)> port_lie;
  WindowFault window_fault;
  std::size_t longest_post = 0;
  int completion_vectors = 0;
  std::vector<int> asked_vectors;
  std::vector<std::pair<int, int>> options;
  std::deque<ibv_async_event> events;
  int own_events_out = 0;  // delivered and not yet acknowledged
  std::vector<ibv_qp*> queue_pairs;
  std::uint32_t max_inline_bytes = std::numeric_limits<std::uint32_t>::max();
};

Book& book() {
  static Book one;
  return one;
}

/// Returns whether this call must fail, and sets errno if so.
bool fails(const char* name) {
  const std::scoped_lock lock(book().mutex);
  const int number = book().calls[name]++;
  if (book().failing.name != name || book().failing.nth != number) {
    return false;
  }
  book().has_failed = true;
  errno = book().failing.error_number;
  return true;
}

void count(const char* kind, int change) {
  const std::scoped_lock lock(book().mutex);
  book().living[kind] += change;
}

template <typename Object>
Object* made(const char* kind, Object* object) {
  if (object != nullptr) {
    count(kind, 1);
  }
  return object;
}

/// For destroy calls, which return 0 on success.
int destroyed(const char* kind, int result) {
  if (result == 0) {
    count(kind, -1);
  }
  return result;
}

// The headers call these through the device's function table, not by name.
ibv_mw* (*real_alloc_mw)(ibv_pd*, ibv_mw_type) = nullptr;
int (*real_dealloc_mw)(ibv_mw*) = nullptr;
int (*real_post_send)(ibv_qp*, ibv_send_wr*, ibv_send_wr**) = nullptr;
int (*real_post_recv)(ibv_qp*, ibv_recv_wr*, ibv_recv_wr**) = nullptr;
int (*real_req_notify_cq)(ibv_cq*, int) = nullptr;
int (*real_query_port)(ibv_context*, std::uint8_t, ibv_port_attr*, std::size_t) = nullptr;

ibv_mw* alloc_mw(ibv_pd* protection_domain, ibv_mw_type type) {
  if (book().window_fault.has_none) {
    errno = EOPNOTSUPP;
    return nullptr;
  }
  return fails("ibv_alloc_mw") ? nullptr : made("window", real_alloc_mw(protection_domain, type));
}
int dealloc_mw(ibv_mw* window) {
  return destroyed("window", real_dealloc_mw(window));
}
int post_send(ibv_qp* queue_pair, ibv_send_wr* requests, ibv_send_wr** bad) {
  if (fails("ibv_post_send")) {
    return errno;
  }
  std::size_t length = 0;
  for (const ibv_send_wr* request = requests; request != nullptr; request = request->next) {
    ++length;
  }
  {
    const std::scoped_lock lock(book().mutex);
    book().longest_post = std::max(book().longest_post, length);
  }
  const WindowFault& fault = book().window_fault;
  const bool is_bind = requests->opcode == IBV_WR_BIND_MW && requests->bind_mw.bind_info.length > fault.above_bytes;
  if (is_bind && fault.is_refused) {
    *bad = requests;
    return EOPNOTSUPP;
  }
  if (is_bind && fault.fails_late) {
    requests->bind_mw.bind_info.length += 1;  // one byte beyond the memory region
  }
  return real_post_send(queue_pair, requests, bad);
}
int post_recv(ibv_qp* queue_pair, ibv_recv_wr* requests, ibv_recv_wr** bad) {
  return fails("ibv_post_recv") ? errno : real_post_recv(queue_pair, requests, bad);
}
int req_notify_cq(ibv_cq* queue, int only_solicited) {
  return fails("ibv_req_notify_cq") ? errno : real_req_notify_cq(queue, only_solicited);
}

int query_port(ibv_context* device, std::uint8_t port, ibv_port_attr* attributes, std::size_t size) {
  if (fails("ibv_query_port")) {
    return errno;
  }
  const int result = real_query_port(device, port, attributes, size);
  if (result == 0 && book().port_lie) {
    book().port_lie(*attributes);
  }
  return result;
}

void note_access(unsigned access) {
  const std::scoped_lock lock(book().mutex);
  book().access.push_back(access);
}

/// The first protection domain is created before any other use of the device.
void stand_in_front_of(ibv_context& device) {
  if (book().completion_vectors > 0) {
    device.num_comp_vectors = book().completion_vectors;
  }
  ibv_context_ops& calls = device.ops;
  if (calls.alloc_mw == alloc_mw) {
    return;
  }
  real_alloc_mw = std::exchange(calls.alloc_mw, alloc_mw);
  real_dealloc_mw = std::exchange(calls.dealloc_mw, dealloc_mw);
  real_post_send = std::exchange(calls.post_send, post_send);
  real_post_recv = std::exchange(calls.post_recv, post_recv);
  real_req_notify_cq = std::exchange(calls.req_notify_cq, req_notify_cq);
  if (verbs_context* const extended = verbs_get_ctx(&device); extended != nullptr && extended->query_port != nullptr) {
    real_query_port = std::exchange(extended->query_port, query_port);
  }
}

}  // namespace

void begin_calls(FailingCall failing) {
  const std::scoped_lock lock(book().mutex);
  book().failing = std::move(failing);
  book().has_failed = false;
  book().calls.clear();
  book().access.clear();
  book().longest_post = 0;
  book().asked_vectors.clear();
  book().options.clear();
  book().queue_pairs.clear();
}

bool has_failed() {
  const std::scoped_lock lock(book().mutex);
  return book().has_failed;
}

std::map<std::string, int> calls_so_far() {
  const std::scoped_lock lock(book().mutex);
  return book().calls;
}

std::map<std::string, int> living_objects() {
  const std::scoped_lock lock(book().mutex);
  std::map<std::string, int> living = book().living;
  std::erase_if(living, [](const auto& one) { return one.second == 0; });
  return living;
}

void set_device_lie(std::function<void(ibv_device_attr&)> lie) {
  book().lie = std::move(lie);
}

void set_port_lie(std::function<void(ibv_port_attr&)> lie) {
  book().port_lie = std::move(lie);
}

std::vector<std::pair<int, int>> set_options() {
  const std::scoped_lock lock(book().mutex);
  return book().options;
}

std::size_t longest_post() {
  const std::scoped_lock lock(book().mutex);
  return book().longest_post;
}

void set_completion_vectors(int count) {
  book().completion_vectors = count;
}

std::vector<int> asked_vectors() {
  const std::scoped_lock lock(book().mutex);
  return book().asked_vectors;
}

void report_event(ibv_event_type type, std::optional<std::size_t> nth) {
  const std::scoped_lock lock(book().mutex);
  ibv_async_event event{};
  event.event_type = type;
  if (nth) {
    event.element.qp = book().queue_pairs.at(*nth);
  } else {
    event.element.port_num = 1;
  }
  book().events.push_back(event);
}

std::size_t reported_events() {
  const std::scoped_lock lock(book().mutex);
  return book().events.size();
}

void set_window_fault(const WindowFault& fault) {
  book().window_fault = fault;
}

std::vector<unsigned> registered_access() {
  const std::scoped_lock lock(book().mutex);
  return book().access;
}

void set_most_inline_bytes(std::uint32_t bytes) {
  book().max_inline_bytes = bytes;
}

}  // namespace framewire::test

// The linker prescribes these names (--wrap).
// NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming)
using framewire::test::book;
using framewire::test::count;
using framewire::test::destroyed;
using framewire::test::fails;
using framewire::test::made;
using framewire::test::note_access;

extern "C" {

ibv_pd* __real_ibv_alloc_pd(ibv_context* device);
ibv_pd* __wrap_ibv_alloc_pd(ibv_context* device) {
  framewire::test::stand_in_front_of(*device);
  return fails("ibv_alloc_pd") ? nullptr : made("domain", __real_ibv_alloc_pd(device));
}
int __real_ibv_dealloc_pd(ibv_pd* protection_domain);
int __wrap_ibv_dealloc_pd(ibv_pd* protection_domain) {
  return destroyed("domain", __real_ibv_dealloc_pd(protection_domain));
}

ibv_cq* __real_ibv_create_cq(ibv_context* device, int depth, void* context, ibv_comp_channel* channel, int vector);
ibv_cq* __wrap_ibv_create_cq(ibv_context* device, int depth, void* context, ibv_comp_channel* channel, int vector) {
  if (book().completion_vectors > 0 && channel != nullptr) {
    const std::scoped_lock lock(book().mutex);
    book().asked_vectors.push_back(std::exchange(vector, 0));
  }
  return fails("ibv_create_cq") ? nullptr
                                : made("queue", __real_ibv_create_cq(device, depth, context, channel, vector));
}
int __real_ibv_destroy_cq(ibv_cq* queue);
int __wrap_ibv_destroy_cq(ibv_cq* queue) {
  return destroyed("queue", __real_ibv_destroy_cq(queue));
}

ibv_comp_channel* __real_ibv_create_comp_channel(ibv_context* device);
ibv_comp_channel* __wrap_ibv_create_comp_channel(ibv_context* device) {
  return fails("ibv_create_comp_channel") ? nullptr : made("channel", __real_ibv_create_comp_channel(device));
}
int __real_ibv_destroy_comp_channel(ibv_comp_channel* channel);
int __wrap_ibv_destroy_comp_channel(ibv_comp_channel* channel) {
  return destroyed("channel", __real_ibv_destroy_comp_channel(channel));
}

ibv_mr* __real_ibv_reg_mr_iova2(ibv_pd* protection_domain, void* address, size_t length, uint64_t iova,
                                unsigned int access);
ibv_mr* __wrap_ibv_reg_mr_iova2(ibv_pd* protection_domain, void* address, size_t length, uint64_t iova,
                                unsigned int access) {
  note_access(access);
  return fails("ibv_reg_mr")
             ? nullptr
             : made("region", __real_ibv_reg_mr_iova2(protection_domain, address, length, iova, access));
}
ibv_mr* __real_ibv_reg_mr(ibv_pd* protection_domain, void* address, size_t length, int access);
// The header defines this name as a macro.
#undef ibv_reg_mr
ibv_mr* __wrap_ibv_reg_mr(ibv_pd* protection_domain, void* address, size_t length, int access) {
  note_access(static_cast<unsigned>(access));
  return fails("ibv_reg_mr") ? nullptr : made("region", __real_ibv_reg_mr(protection_domain, address, length, access));
}
int __real_ibv_dereg_mr(ibv_mr* mr);
int __wrap_ibv_dereg_mr(ibv_mr* mr) {
  return destroyed("region", __real_ibv_dereg_mr(mr));
}

int __real_ibv_query_device(ibv_context* device, ibv_device_attr* attributes);
int __wrap_ibv_query_device(ibv_context* device, ibv_device_attr* attributes) {
  if (fails("ibv_query_device")) {
    return errno;
  }
  const int result = __real_ibv_query_device(device, attributes);
  if (result == 0 && book().lie) {
    book().lie(*attributes);
  }
  return result;
}

int __real_ibv_modify_qp(ibv_qp* queue_pair, ibv_qp_attr* attributes, int mask);
int __wrap_ibv_modify_qp(ibv_qp* queue_pair, ibv_qp_attr* attributes, int mask) {
  return fails("ibv_modify_qp") ? errno : __real_ibv_modify_qp(queue_pair, attributes, mask);
}

int __real_ibv_get_async_event(ibv_context* device, ibv_async_event* event);
int __wrap_ibv_get_async_event(ibv_context* device, ibv_async_event* event) {
  const std::scoped_lock lock(book().mutex);
  if (book().events.empty()) {
    return __real_ibv_get_async_event(device, event);
  }
  *event = book().events.front();
  book().events.pop_front();
  ++book().own_events_out;
  return 0;
}
void __real_ibv_ack_async_event(ibv_async_event* event);
void __wrap_ibv_ack_async_event(ibv_async_event* event) {
  {
    const std::scoped_lock lock(book().mutex);
    if (book().own_events_out > 0) {
      --book().own_events_out;
      return;
    }
  }
  __real_ibv_ack_async_event(event);
}

rdma_event_channel* __real_rdma_create_event_channel();
rdma_event_channel* __wrap_rdma_create_event_channel() {
  return fails("rdma_create_event_channel") ? nullptr : made("events", __real_rdma_create_event_channel());
}
void __real_rdma_destroy_event_channel(rdma_event_channel* channel);
void __wrap_rdma_destroy_event_channel(rdma_event_channel* channel) {
  __real_rdma_destroy_event_channel(channel);
  count("events", -1);
}

int __real_rdma_create_id(rdma_event_channel* events, rdma_cm_id** id, void* context, rdma_port_space space);
int __wrap_rdma_create_id(rdma_event_channel* events, rdma_cm_id** id, void* context, rdma_port_space space) {
  if (fails("rdma_create_id")) {
    return -1;
  }
  const int result = __real_rdma_create_id(events, id, context, space);
  count("id", result == 0 ? 1 : 0);
  return result;
}
int __real_rdma_destroy_id(rdma_cm_id* id);
int __wrap_rdma_destroy_id(rdma_cm_id* id) {
  return destroyed("id", __real_rdma_destroy_id(id));
}

int __real_rdma_get_cm_event(rdma_event_channel* events, rdma_cm_event** event);
int __wrap_rdma_get_cm_event(rdma_event_channel* events, rdma_cm_event** event) {
  const int result = __real_rdma_get_cm_event(events, event);
  if (result == 0) {
    count("event", 1);
    count("id", (*event)->event == RDMA_CM_EVENT_CONNECT_REQUEST ? 1 : 0);  // a connection request carries a new id
  }
  return result;
}
int __real_rdma_ack_cm_event(rdma_cm_event* event);
int __wrap_rdma_ack_cm_event(rdma_cm_event* event) {
  return destroyed("event", __real_rdma_ack_cm_event(event));
}

int __real_rdma_create_qp(rdma_cm_id* id, ibv_pd* protection_domain, ibv_qp_init_attr* wanted);
int __wrap_rdma_create_qp(rdma_cm_id* id, ibv_pd* protection_domain, ibv_qp_init_attr* wanted) {
  if (fails("rdma_create_qp")) {
    return -1;
  }
  if (wanted->cap.max_inline_data > book().max_inline_bytes) {
    errno = EINVAL;
    return -1;
  }
  const int result = __real_rdma_create_qp(id, protection_domain, wanted);
  count("queue pair", result == 0 ? 1 : 0);
  if (result == 0) {
    const std::scoped_lock lock(book().mutex);
    book().queue_pairs.push_back(id->qp);
  }
  wanted->cap.max_inline_data = std::min(wanted->cap.max_inline_data, book().max_inline_bytes);
  return result;
}
void __real_rdma_destroy_qp(rdma_cm_id* id);
void __wrap_rdma_destroy_qp(rdma_cm_id* id) {
  __real_rdma_destroy_qp(id);
  count("queue pair", -1);
}

int __real_rdma_resolve_addr(rdma_cm_id* id, sockaddr* from, sockaddr* to, int timeout_ms);
int __wrap_rdma_resolve_addr(rdma_cm_id* id, sockaddr* from, sockaddr* to, int timeout_ms) {
  return fails("rdma_resolve_addr") ? -1 : __real_rdma_resolve_addr(id, from, to, timeout_ms);
}
int __real_rdma_resolve_route(rdma_cm_id* id, int timeout_ms);
int __wrap_rdma_resolve_route(rdma_cm_id* id, int timeout_ms) {
  return fails("rdma_resolve_route") ? -1 : __real_rdma_resolve_route(id, timeout_ms);
}
int __real_rdma_connect(rdma_cm_id* id, rdma_conn_param* parameters);
int __wrap_rdma_connect(rdma_cm_id* id, rdma_conn_param* parameters) {
  return fails("rdma_connect") ? -1 : __real_rdma_connect(id, parameters);
}
int __real_rdma_accept(rdma_cm_id* id, rdma_conn_param* parameters);
int __wrap_rdma_accept(rdma_cm_id* id, rdma_conn_param* parameters) {
  return fails("rdma_accept") ? -1 : __real_rdma_accept(id, parameters);
}
int __real_rdma_migrate_id(rdma_cm_id* id, rdma_event_channel* events);
int __wrap_rdma_migrate_id(rdma_cm_id* id, rdma_event_channel* events) {
  return fails("rdma_migrate_id") ? -1 : __real_rdma_migrate_id(id, events);
}
int __real_rdma_set_option(rdma_cm_id* id, int level, int option, void* value, size_t size);
int __wrap_rdma_set_option(rdma_cm_id* id, int level, int option, void* value, size_t size) {
  if (level == RDMA_OPTION_ID && size == 1) {
    const std::scoped_lock lock(book().mutex);
    book().options.emplace_back(option, *static_cast<const std::uint8_t*>(value));
  }
  return fails("rdma_set_option") ? -1 : __real_rdma_set_option(id, level, option, value, size);
}
int __real_rdma_bind_addr(rdma_cm_id* id, sockaddr* address);
int __wrap_rdma_bind_addr(rdma_cm_id* id, sockaddr* address) {
  return fails("rdma_bind_addr") ? -1 : __real_rdma_bind_addr(id, address);
}
int __real_rdma_listen(rdma_cm_id* id, int backlog);
int __wrap_rdma_listen(rdma_cm_id* id, int backlog) {
  return fails("rdma_listen") ? -1 : __real_rdma_listen(id, backlog);
}
int __real_rdma_disconnect(rdma_cm_id* id);
int __wrap_rdma_disconnect(rdma_cm_id* id) {
  return fails("rdma_disconnect") ? -1 : __real_rdma_disconnect(id);
}
}
// NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming)
