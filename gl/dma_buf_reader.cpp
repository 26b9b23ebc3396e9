#include "gl/dma_buf_reader.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/wait.hpp"

namespace framewire {

namespace {

constexpr std::int64_t gpu_timeout_ns = 10 * ns_per_s;  // a GPU that takes longer for a picture hangs
constexpr std::int64_t longest_end_ns = 2 * ns_per_s;
constexpr std::int64_t look_interval_ns = ns_per_ms;  // whether another picture has come

void finish(const std::shared_ptr<Fence>& fence, std::shared_ptr<DevicePicture> picture, FenceState state) noexcept {
  picture.reset();  // the decoder may need its memory at once
  fence->finish(state);
}

}  // namespace

std::unique_ptr<DmaBufReader> GlDmaBufReader::open(const std::string& drm_node) {
  return std::make_unique<GlDmaBufReader>(EglContext::create_on(drm_node));
}

GlDmaBufReader::GlDmaBufReader(EglContext context, ImportPlane import)
    : context_(std::move(context)), import_(std::move(import)) {
  abandoned();  // so that it is there when no memory may be
  context_.make_current_beside_others();
  if (!import_) {
    import_ = [importer = DmaBufImporter(context_)](const DmaBufPlane& plane, std::uint32_t component_bytes) {
      return importer.import(plane, component_bytes);
    };
  }
  context_.release_current();
  thread_ = std::thread([this] { run(); });
}

GlDmaBufReader::GlDmaBufReader(EglContext context) : GlDmaBufReader(std::move(context), ImportPlane()) {}

GlDmaBufReader::Abandoned& GlDmaBufReader::abandoned() {
  static auto& all = *new Abandoned;
  return all;
}

GlDmaBufReader::~GlDmaBufReader() {
  {
    const std::scoped_lock lock(mutex_);
    is_stopping_ = true;
    end_ns_ = monotonic_ns() + longest_end_ns;
  }
  changed_.notify_all();
  thread_.join();
}

std::shared_ptr<Fence> GlDmaBufReader::start(std::shared_ptr<DevicePicture> picture, std::shared_ptr<HostBlock> block,
                                             std::uint64_t offset_bytes) {
  if (offset_bytes % 4 != 0 || offset_bytes >= block->size_bytes()) {
    throw Error::failed("a decoded picture does not fit its slot");
  }
  auto fence = std::make_shared<Fence>();
  {
    const std::scoped_lock lock(mutex_);
    waiting_.push_back({std::move(picture), std::move(block), offset_bytes, fence});
  }
  changed_.notify_all();
  return fence;
}

bool GlDmaBufReader::is_stopping() const {
  const std::scoped_lock lock(mutex_);
  return is_stopping_;
}

std::string GlDmaBufReader::failure() const {
  const std::scoped_lock lock(mutex_);
  return failure_;
}

void GlDmaBufReader::fail(const std::string& reason) {
  const std::scoped_lock lock(mutex_);
  failure_ = failure_.empty() ? reason : failure_;
}

void GlDmaBufReader::run() noexcept {
  set_thread_name("fw-dma-buf");
  try {
    context_.make_current_beside_others();
  } catch (const std::exception& error) {
    fail(error.what());
  }
  std::optional<Job> next;
  while (take_next(next)) {
    if (next) {
      begin(std::move(*next));
      next.reset();
    } else {
      follow_oldest(monotonic_ns() + look_interval_ns);
    }
  }
  packer_.reset();
  context_.release_current();
}

/// False when all is done. `next` stays empty if the GPU is to finish others first, or nothing else waits.
bool GlDmaBufReader::take_next(std::optional<Job>& next) {
  std::unique_lock lock(mutex_);
  if (readings_.empty()) {
    changed_.wait(lock, [this] { return is_stopping_ || !waiting_.empty(); });
  }
  if (!waiting_.empty() && readings_.size() < PlanePacker::max_in_flight) {
    next = std::move(waiting_.front());
    waiting_.pop_front();
  }
  return next.has_value() || !readings_.empty();
}

void GlDmaBufReader::begin(Job job) noexcept {
  if (monotonic_ns() >= end_ns_) {
    return finish(job.fence, std::move(job.picture), FenceState::failed);
  }
  if (failure().empty()) {
    try {
      return read_by_gpu(job);
    } catch (const std::exception& error) {
      fail(error.what());
      drain();
      packer_.reset();
    }
  }
  const std::string fault = job.picture->copy_to(job.block->bytes().subspan(job.offset_bytes));
  finish(job.fence, std::move(job.picture), fault.empty() ? FenceState::done : FenceState::failed);
}

/// Throws Error: then the GPU has not begun, or has finished.
void GlDmaBufReader::read_by_gpu(Job& job) {
  const DmaBufPicture picture = job.picture->export_planes();
  if ((picture.size_bytes() + 3) / 4 * 4 > job.block->size_bytes() - job.offset_bytes) {
    throw Error::failed("a decoded picture does not fit its slot");
  }
  if (!packer_ || !packer_->fits(picture)) {
    drain();
    packer_.reset();
    if (const std::string reason = failure(); !reason.empty()) {  // the GPU hangs, or is lost
      throw Error::failed(reason);
    }
    packer_ = std::make_unique<PlanePacker>(picture);
  }
  Reading reading{.job = job, .textures = {}, .deadline_ns = 0};
  std::array<GLuint, 2> textures{};
  for (std::size_t i = 0; i < textures.size(); ++i) {
    reading.textures.at(i) = import_(picture.planes.at(i), picture.component_bytes);
    textures.at(i) = reading.textures.at(i).id();
  }
  if (const GLenum error = packer_->begin(picture, textures, job.block, job.offset_bytes); error != GL_NO_ERROR) {
    glFinish();
    throw Error::failed("the driver (" + gl_renderer() + ") does not read a DMA-BUF (OpenGL error " +
                        std::to_string(error) + ")");
  }
  reading.deadline_ns = monotonic_ns() + gpu_timeout_ns;
  readings_.push_back(std::move(reading));
}

/// After a loss the GPU accesses no memory any more, and the processor copies what it had. Drivers may end their fences
/// then. Where the GPU writes into slots itself, those of one that hangs are never given back: their fences stay
/// pending.
void GlDmaBufReader::follow_oldest(std::int64_t until_ns) noexcept {
  Reading& oldest = readings_.front();
  const std::int64_t deadline_ns = std::min(oldest.deadline_ns, end_ns_.load());
  const bool is_finished = packer_->wait_finished(std::min(until_ns, deadline_ns));
  const std::optional<std::string> loss = is_finished ? find_gl_loss() : std::nullopt;
  if (is_finished && !loss) {
    finish(oldest.job.fence, std::move(oldest.job.picture), FenceState::done);
    readings_.pop_front();
    return;
  }
  const bool is_lost = loss || packer_->has_failed();
  if (!is_lost && monotonic_ns() < deadline_ns) {
    return;
  }
  fail(loss.value_or(is_lost ? find_gl_loss().value_or("its OpenGL context is lost")
                             : "the GPU did not read a picture within 10 s"));
  if (!is_lost && packer_->method() == ReadbackMethod::pinned_memory && !is_stopping()) {
    Abandoned& kept = abandoned();
    const std::scoped_lock lock(kept.mutex);
    kept.readings.splice(kept.readings.end(), readings_);
  }
  for (Reading& reading : std::exchange(readings_, {})) {
    Job& job = reading.job;
    const bool is_copied = is_lost && job.picture->copy_to(job.block->bytes().subspan(job.offset_bytes)).empty();
    finish(job.fence, std::move(job.picture), is_copied ? FenceState::done : FenceState::failed);
  }
  if (!is_lost) {
    static_cast<void>(packer_.release());  // its end would wait for the GPU, for ever
  }
}

void GlDmaBufReader::drain() noexcept {
  while (!readings_.empty()) {
    follow_oldest(monotonic_ns() + look_interval_ns);
  }
}

}  // namespace framewire
