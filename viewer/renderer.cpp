#include "viewer/renderer.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/failure_text.hpp"
#include "base/wait.hpp"
#include "gl/gl.hpp"
#include "gl/wrapped_blocks.hpp"

namespace framewire {

namespace {

/// While the main thread waits for this thread, it looks this often whether the window system blocks it.
constexpr std::int64_t blocked_poll_ns = 20 * ns_per_ms;

}  // namespace

Renderer::Renderer(Surface& surface, FrameTimesFile& frame_times, const Clock& clock, DrawingOptions options,
                   std::function<void()> on_news)
    : surface_(surface),
      frame_times_(frame_times),
      clock_(clock),
      options_(std::move(options)),
      on_news_(std::move(on_news)) {
  thread_ = std::thread([this] { run(); });
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return phase_ != Phase::starting; });
  if (failure_) {
    const Failure failure = *failure_;
    lock.unlock();
    thread_.join();
    throw Error(failure.status, failure.message);
  }
}

Renderer::~Renderer() {
  request(&Requests::release);
  request(&Requests::finish);
  thread_.join();
}

// ---- Any thread ----

void Renderer::request(bool Requests::*what) {
  {
    const std::scoped_lock lock(mutex_);
    requests_.*what = true;
  }
  wake();
}

void Renderer::show(ShownScene shown) {
  {
    const std::scoped_lock lock(mutex_);
    next_shown_ = std::move(shown);
  }
  wake();
}

void Renderer::request_redraw() {
  request(&Requests::redraw);
}

void Renderer::toggle_panel() {
  request(&Requests::panel_toggle);
}

void Renderer::set_camera(const Camera& camera) {
  {
    const std::scoped_lock lock(mutex_);
    requests_.camera = camera;
  }
  wake();
}

void Renderer::record(std::shared_ptr<WindowRecording> recording) {
  {
    const std::scoped_lock lock(mutex_);
    requests_.recording = std::move(recording);
  }
  wake();
}

std::optional<SetCounts> Renderer::set_counts() const {
  const std::scoped_lock lock(mutex_);
  return set_counts_;
}

void Renderer::request_screenshot() {
  request(&Requests::screenshot);
}

std::optional<Renderer::Failure> Renderer::failure() const {
  const std::scoped_lock lock(mutex_);
  return failure_;
}

std::vector<std::string> Renderer::take_warnings() {
  const std::scoped_lock lock(mutex_);
  return std::exchange(warnings_, {});
}

bool Renderer::take_seen(SeenPictures& seen, std::uint64_t& version) const {
  const std::scoped_lock lock(mutex_);
  if (version == seen_version_) {
    return false;
  }
  seen = seen_;
  version = seen_version_;
  return true;
}

std::optional<Renderer::Screenshot> Renderer::take_screenshot() {
  const std::scoped_lock lock(mutex_);
  return std::exchange(screenshot_, std::nullopt);
}

bool Renderer::is_blocked_for(std::int64_t duration_ns) const noexcept {
  const std::int64_t since_ns = busy_since_ns_;
  return since_ns != 0 && monotonic_ns() - since_ns >= duration_ns;
}

bool Renderer::release(std::int64_t deadline_ns, std::int64_t blocked_ns) {
  request(&Requests::release);
  return wait_for_phase(Phase::released, deadline_ns, blocked_ns);
}

bool Renderer::finish(std::int64_t deadline_ns, bool with_picture) {
  if (with_picture) {
    request(&Requests::picture_at_end);
  }
  request(&Requests::finish);
  return wait_for_phase(Phase::ended, deadline_ns, INT64_MAX);
}

bool Renderer::wait_for_phase(Phase phase, std::int64_t deadline_ns, std::int64_t blocked_ns) {
  std::unique_lock lock(mutex_);
  while (phase_ < phase) {
    const std::int64_t now_ns = monotonic_ns();
    if (now_ns >= deadline_ns || is_blocked_for(blocked_ns)) {
      return false;
    }
    changed_.wait_for(lock, std::chrono::nanoseconds(std::min(blocked_poll_ns, deadline_ns - now_ns)));
  }
  return true;
}

// ---- The thread "fw-render" ----

void Renderer::run() noexcept {
  set_thread_name("fw-render");
  try {
    surface_.attach();
    run_attached();
  } catch (const std::exception& error) {
    fail(error);
  }
  surface_.detach();
  set_phase(Phase::ended);
}

void Renderer::run_attached() {
  Drawing drawing(surface_, frame_times_, clock_, options_);
  is_software_ = is_software_renderer();
  if (options_.memory != nullptr) {
    why_copied_ = WrappedBlocks::why_not(*options_.memory);
  }
  device_ = short_renderer();
  device_details_ = gl_renderer();
  upload_method_ = drawing.upload_method();
  set_phase(Phase::drawing);
  draw_until_released(drawing);
  drawing.release();
  set_phase(Phase::released);
  Requests requests = take_requests();
  while (!requests.finish) {
    wake_.wait_until(INT64_MAX);
    requests = take_requests();
  }
  if (requests.picture_at_end) {
    take_screenshot_of(drawing, &Drawing::capture_last);
  }
}

/// Goes on after a failure, for the end needs this thread.
void Renderer::draw_until_released(Drawing& drawing) {
  bool has_failed = false;
  Requests requests = take_requests();
  for (; !requests.release; requests = take_requests()) {
    std::int64_t due_ns = INT64_MAX;
    if (!has_failed) {
      try {
        draw(drawing, requests);
        due_ns = drawing.due_ns();
      } catch (const std::exception& error) {
        has_failed = true;
        fail(error);
      }
    }
    wake_.wait_until(due_ns);
  }
  if (requests.screenshot) {
    take_screenshot_of(drawing, &Drawing::capture);
  }
}

void Renderer::draw(Drawing& drawing, const Requests& requests) {
  if (const auto shown = take_next_shown()) {
    drawing.show(*shown);
  }
  if (requests.panel_toggle) {
    drawing.toggle_panel();
  }
  if (requests.camera) {
    drawing.set_camera(*requests.camera);
  }
  if (requests.recording) {
    drawing.record(*requests.recording);
  }
  if (requests.redraw) {
    drawing.request_redraw();
  }
  busy_since_ns_ = monotonic_ns();
  drawing.draw();
  busy_since_ns_ = 0;
  upload_method_ = drawing.upload_method();
  quality_ = drawing.quality();
  refresh_period_ns_ = drawing.refresh_period_ns();
  if (const auto counts = drawing.set_counts()) {
    {
      const std::scoped_lock lock(mutex_);
      set_counts_ = counts;
    }
    if (options_.most_sets != 0 && counts->shown >= options_.most_sets) {
      on_news_();
    }
  }
  publish_seen(drawing.seen());
  if (const std::vector<std::string> warnings = drawing.take_warnings(); !warnings.empty()) {
    {
      const std::scoped_lock lock(mutex_);
      warnings_.insert(warnings_.end(), warnings.begin(), warnings.end());
    }
    on_news_();
  }
  if (requests.screenshot) {
    take_screenshot_of(drawing, &Drawing::capture);
    on_news_();
  }
}

/// It rarely changes. Only this thread changes seen_.
void Renderer::publish_seen(const SeenPictures& seen) {
  if (seen == seen_) {
    return;
  }
  {
    const std::scoped_lock lock(mutex_);
    seen_ = seen;
    ++seen_version_;
  }
  on_news_();
}

void Renderer::take_screenshot_of(Drawing& drawing, Image (Drawing::*capture)()) {
  Screenshot screenshot;
  try {
    screenshot.picture = (drawing.*capture)();
  } catch (const std::exception& error) {
    screenshot.error = error.what();
  }
  const std::scoped_lock lock(mutex_);
  screenshot_ = std::move(screenshot);
}

std::optional<ShownScene> Renderer::take_next_shown() {
  const std::scoped_lock lock(mutex_);
  return std::exchange(next_shown_, std::nullopt);
}

/// What is asked for the end stays set.
Renderer::Requests Renderer::take_requests() {
  const std::scoped_lock lock(mutex_);
  Requests requests = requests_;
  requests_ = {.release = requests.release, .finish = requests.finish, .picture_at_end = requests.picture_at_end};
  return requests;
}

void Renderer::set_phase(Phase phase) {
  {
    const std::scoped_lock lock(mutex_);
    phase_ = phase;
  }
  changed_.notify_all();
}

void Renderer::fail(const std::exception& error) {
  busy_since_ns_ = 0;
  {
    const std::scoped_lock lock(mutex_);
    failure_ = {.message = failure_text(error), .status = exit_status_of(error)};
  }
  on_news_();
}

}  // namespace framewire
