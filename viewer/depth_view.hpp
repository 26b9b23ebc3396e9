// Pictures with depth, put together into one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "frame/camera.hpp"
#include "gl/depth_merger.hpp"
#include "gl/frame_painter.hpp"
#include "gl/offscreen_target.hpp"
#include "gl/scene_program.hpp"
#include "viewer/awaited_members.hpp"
#include "viewer/render_sets.hpp"
#include "viewer/shown_stream.hpp"

namespace framewire {

/// Has the senders of all streams render the same moment from the same camera, draws scenes of its own with it, and
/// merges what belongs together. What is not complete is not shown: the last whole picture stays. A stream whose
/// frames do not fit, that has no sender, or whose sender does not deliver what the others do (AwaitedMembers) is left
/// out, and the others go on. Used on the drawing thread.
class DepthView {
 public:
  using Streams = std::span<const std::unique_ptr<ShownStream>>;

  /// `scenes` are drawn here, as gl: sources name them. Throws Error: a scene that is not there, does not compile or
  /// has no depth.
  DepthView(const std::vector<std::string>& scenes, std::int64_t started_ns);
  DepthView(const DepthView&) = delete;
  DepthView& operator=(const DepthView&) = delete;

  /// Before a stream that follow() was given is destroyed.
  void forget(const ShownStream& stream) noexcept;
  /// From now on other viewers may move the cameras of these streams, until this one asks again.
  void release_cameras(Streams streams) noexcept;

  /// From where the next frames are rendered.
  void set_camera(const Camera& camera) noexcept { camera_ = camera; }

  /// What to do in follow().
  struct Following {
    bool asks = true;     // for frames; else the cameras are released
    bool chooses = true;  // frames to show; else the picture stays
  };
  /// Chooses the frames to show, if a set is complete. Asks for others, one in each `period_ns`.
  void follow(Streams streams, const Following& what, std::int64_t period_ns, std::int64_t now_ns);
  /// When follow() has something to do, if no frame comes before.
  [[nodiscard]] std::int64_t due_ns() const noexcept;

  /// After the chosen frames were uploaded: merges them. Returns false if there is no whole set; the picture stays.
  /// Changes what DepthMerger does. Throws Error if the GPU hangs or is lost.
  bool merge(Streams streams, std::int64_t now_ns);

  /// A stream whose frames contradict its format: merge() cannot use it, and it is to be given up.
  struct Contradiction {
    ShownStream* stream = nullptr;
    std::string text{};
  };
  /// That merge() has met since the last call.
  [[nodiscard]] std::optional<Contradiction> take_contradiction() {
    return std::exchange(contradiction_, std::nullopt);
  }

  /// The merged picture; none before the first.
  [[nodiscard]] const std::optional<PaintedFrame>& picture() const noexcept { return picture_; }

  [[nodiscard]] std::uint64_t sets_shown() const noexcept { return sets_.sets_shown(); }
  [[nodiscard]] std::uint64_t sets_missed() const noexcept { return sets_.sets_missed(); }
  /// What the user should know, each once; else empty.
  std::string take_warning() { return std::exchange(warning_, {}); }

 private:
  struct LocalScene {
    SceneProgram program;
    std::optional<OffscreenTarget> target;  // made for the size of the frames
  };
  /// A stream of which frames are merged.
  struct Member {
    ShownStream* stream = nullptr;
    std::uint64_t session = 0;
    std::int64_t joined_ns = 0;
    std::uint64_t refusals = 0;  // that were seen
    std::uint64_t asked = 0;     // the newest request
    std::int64_t asked_ns = 0;   // when
    std::int64_t told_ns = 0;    // when that was said the last time
    FrameQueue::Tags tags{};     // of its frames that wait; read once in each follow(), while others come
    std::string defect{};        // why it delivers nothing in this session; or empty
  };

  void follow_members(Streams streams, std::int64_t now_ns);
  void leave(Member& member);
  void choose_size(Streams streams);
  [[nodiscard]] std::string misfit(const ShownStream& stream, std::size_t members) const;
  void follow_deliveries(std::int64_t now_ns);
  void follow_refusals(std::int64_t now_ns);
  void choose(std::int64_t now_ns);
  [[nodiscard]] bool has_camera(std::uint64_t id, std::int64_t now_ns) noexcept;
  void drop_hopeless() noexcept;
  void give_up(std::int64_t now_ns);
  void ask(std::int64_t period_ns, std::int64_t now_ns);
  void ask_member(Member& member, const RenderRequest& request, std::int64_t now_ns) noexcept;
  std::size_t gather(Streams streams, std::span<DepthPicture> pictures);
  void draw_merged(std::span<DepthPicture> pictures, std::size_t count);
  [[nodiscard]] std::optional<RenderRequest> find_request(std::uint64_t id) const noexcept;
  void draw_scenes(Size size);

  const std::int64_t started_ns_;
  std::vector<LocalScene> scenes_;
  DepthMerger merger_;
  RenderSets sets_;
  Camera camera_;
  std::vector<Member> members_;
  AwaitedMembers awaited_;
  Size size_{};          // of the members' frames
  Size refused_size_{};  // that the driver could not draw
  std::optional<RenderRequest> chosen_;
  std::uint64_t shown_ = 0;            // the newest set
  std::int64_t unknown_since_ns_ = 0;  // the cameras of sets were not known; 0: they were
  std::optional<PaintedFrame> picture_;
  std::optional<Contradiction> contradiction_;
  std::int64_t camera_due_ns_ = INT64_MAX;  // when to look again for the camera of a set that is complete
  std::int64_t told_due_ns_ = INT64_MAX;    // when to tell the senders that their camera is still needed
  bool asks_ = false;                       // as follow() was told
  bool has_asked_ = false;                  // since it released the cameras
  bool has_said_refusal_ = false;
  std::string warning_;
};

}  // namespace framewire
