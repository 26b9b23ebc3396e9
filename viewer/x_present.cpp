#include "viewer/x_present.hpp"

#include <dlfcn.h>
#include <xcb/present.h>
#include <xcb/xcb.h>

#include <cstdlib>
#include <utility>

#include "base/saturating.hpp"

namespace framewire {

namespace {

/// An answer that takes longer is lost, or the screen sleeps: ask again.
constexpr std::int64_t longest_answer_ns = 200 * ns_per_ms;
/// A server with another clock than CLOCK_MONOTONIC says times that are further away.
constexpr std::int64_t longest_ago_ns = ns_per_s;

/// XCB allocates what it returns by malloc().
struct FreesByFree {
  void operator()(void* reply) const noexcept { std::free(reply); }  // NOLINT(cppcoreguidelines-no-malloc)
};
template <typename Reply>
using XcbPointer = std::unique_ptr<Reply, FreesByFree>;

/// GLFW's function for native handles, which a GLFW without X does not have. 0: no window of X.
xcb_window_t x_window_of(GLFWwindow* window) {
  using GetX11Window = unsigned long (*)(GLFWwindow*);
  // dlsym() returns functions as pointers to objects, as POSIX has it.
  const auto get = reinterpret_cast<GetX11Window>(::dlsym(RTLD_DEFAULT, "glfwGetX11Window"));
  return get == nullptr ? 0 : static_cast<xcb_window_t>(get(window));
}

bool has_present(xcb_connection_t* connection) {
  const xcb_query_extension_reply_t* extension = xcb_get_extension_data(connection, &xcb_present_id);
  if (extension == nullptr || extension->present == 0) {
    return false;
  }
  const auto cookie = xcb_present_query_version(connection, 1, 0);
  const XcbPointer<xcb_present_query_version_reply_t> version(
      xcb_present_query_version_reply(connection, cookie, nullptr));
  return version != nullptr;
}

}  // namespace

struct XPresent::Connection {
  Connection() = default;
  ~Connection() {
    if (events != nullptr) {
      xcb_unregister_for_special_event(xcb, events);
    }
    xcb_disconnect(xcb);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  xcb_connection_t* xcb = xcb_connect(nullptr, nullptr);  // never null
  xcb_window_t window = 0;
  xcb_special_event_t* events = nullptr;
  std::int64_t asked_ns = 0;  // 0: no answer is awaited
  std::uint64_t newest_count = 0;
};

XPresent::XPresent(std::unique_ptr<Connection> connection) : connection_(std::move(connection)) {}

XPresent::~XPresent() = default;

std::unique_ptr<XPresent> XPresent::open(GLFWwindow* window) {
  const xcb_window_t x_window = x_window_of(window);
  if (x_window == 0) {
    return nullptr;
  }
  auto connection = std::make_unique<Connection>();
  if (xcb_connection_has_error(connection->xcb) != 0 || !has_present(connection->xcb)) {
    return nullptr;
  }
  connection->window = x_window;
  const std::uint32_t id = xcb_generate_id(connection->xcb);
  connection->events = xcb_register_for_special_xge(connection->xcb, &xcb_present_id, id, nullptr);
  const auto cookie =
      xcb_present_select_input_checked(connection->xcb, id, x_window, XCB_PRESENT_EVENT_MASK_COMPLETE_NOTIFY);
  const XcbPointer<xcb_generic_error_t> error(xcb_request_check(connection->xcb, cookie));
  if (connection->events == nullptr || error != nullptr) {
    return nullptr;
  }
  return std::unique_ptr<XPresent>(new XPresent(std::move(connection)));
}

void XPresent::await_answer() noexcept {
  const XcbPointer<xcb_get_input_focus_reply_t> answer(
      xcb_get_input_focus_reply(connection_->xcb, xcb_get_input_focus(connection_->xcb), nullptr));
}

void XPresent::take_events(std::int64_t now_ns) noexcept {
  Connection& connection = *connection_;
  while (const XcbPointer<xcb_generic_event_t> event{xcb_poll_for_special_event(connection.xcb, connection.events)}) {
    const auto& complete = *reinterpret_cast<const xcb_present_complete_notify_event_t*>(event.get());
    const std::int64_t refresh_ns = saturating_multiply(static_cast<std::int64_t>(complete.ust), ns_per_us);
    if (complete.kind != XCB_PRESENT_COMPLETE_KIND_NOTIFY_MSC) {  // of a swap by the driver
      if (complete.mode != XCB_PRESENT_COMPLETE_MODE_SKIP) {
        swaps_.completed(complete.serial, {.at_ns = refresh_ns, .number = complete.msc}, now_ns);
      }
      continue;
    }
    connection.asked_ns = 0;
    connection.newest_count = complete.msc;
    if (refresh_ns <= now_ns && now_ns - refresh_ns < longest_ago_ns) {
      model_.observe(refresh_ns, complete.msc);
    }
  }
}

std::optional<PictureRefresh> XPresent::take_seen() noexcept {
  take_events(monotonic_ns());
  return swaps_.take();
}

std::optional<SeenRefresh> XPresent::first_after(std::int64_t shown_ns) noexcept {
  const std::optional<Refresh> refresh = next_after(shown_ns);
  return refresh ? std::optional(SeenRefresh{.at_ns = refresh->next_ns, .number = refresh->number}) : std::nullopt;
}

std::optional<Refresh> XPresent::next_after(std::int64_t now_ns) noexcept {
  Connection& connection = *connection_;
  take_events(now_ns);
  if (connection.asked_ns == 0 || now_ns - connection.asked_ns > longest_answer_ns) {
    connection.asked_ns = now_ns;
    xcb_present_notify_msc(connection.xcb, connection.window, 0, connection.newest_count + 1, 0, 0);
    xcb_flush(connection.xcb);
  }
  return model_.next_after(now_ns);
}

}  // namespace framewire
