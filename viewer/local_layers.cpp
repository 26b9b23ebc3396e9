#include "viewer/local_layers.hpp"

#include <poll.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <exception>
#include <utility>

#include "base/error.hpp"
#include "base/wait.hpp"

namespace framewire {

namespace {

/// How often the senders are looked at.
constexpr std::int64_t follow_period_ns = 100 * ns_per_ms;
/// The same at the end, where only a sender's last line comes before its end.
constexpr std::int64_t end_period_ns = 10 * ns_per_ms;

}  // namespace

LocalLayers::LocalLayers(const Clock& clock, Log& log, std::string program, SshOptions ssh, Size drawn_size)
    : clock_(clock), log_(log), program_(std::move(program)), ssh_(std::move(ssh)), drawn_size_(drawn_size) {
  std::signal(SIGCHLD, SIG_DFL);  // if it is ignored, waitpid() cannot get a status
}

LocalLayers::~LocalLayers() {
  stop();
  wait();
}

void LocalLayers::show(std::span<const StreamPointer> streams, std::span<const ViewedSource> sources) {
  for (LocalLayer& layer : layers_) {
    if (layer.stream && std::ranges::find(streams, layer.stream) == streams.end()) {
      layer.stream.reset();
      layer.sender->stop();
    }
  }
  for (std::size_t i = 0; i < streams.size(); ++i) {
    if (sources[i].local && !sources[i].drawn && find(*streams[i]) == nullptr) {
      layers_.push_back({.stream = streams[i],
                         .sender = std::make_unique<SenderProcess>(program_, *sources[i].local, clock_, log_, ssh_)});
      // Who names one source wants to know why it does not come. Of several, the others are worth seeing.
      const bool must_work = sources[i].local->host && sources.size() == 1 && sources[i].subscriber.retry_ns < 0;
      layers_.back().sender->start({.port = streams[i]->port(),
                                    .drawn_size = drawn_size_,
                                    .rendezvous = streams[i]->rendezvous(),
                                    .must_work = must_work});
    }
  }
}

bool LocalLayers::is_source_of(const ViewedStream& stream, const ViewedSource& source) const {
  if (const ShaderSource* const drawn = stream.drawn()) {
    return source.drawn == *drawn;
  }
  const LocalLayer* layer = find(stream);
  return !source.drawn && stream.peer_text() == source.peer_text &&
         (layer == nullptr ? !source.local : source.local == layer->sender->source());
}

const LocalLayers::LocalLayer* LocalLayers::find(const ViewedStream& stream) const {
  const auto found = std::ranges::find_if(layers_, [&](const LocalLayer& one) { return one.stream.get() == &stream; });
  return found != layers_.end() ? &*found : nullptr;
}

bool LocalLayers::goes_on(const ViewedStream& stream) const {
  const LocalLayer* layer = find(stream);
  return layer != nullptr && !layer->is_given_up &&
         (layer->sender->state() == SenderProcess::State::running ||
          layer->sender->state() == SenderProcess::State::failed);
}

bool LocalLayers::has_failed(const ViewedStream& stream) const {
  const LocalLayer* layer = find(stream);
  return layer != nullptr && layer->has_failed && stream.status().session_number <= layer->sessions_at_failure;
}

std::int64_t LocalLayers::deadline_ns() const noexcept {
  return layers_.empty() ? INT64_MAX : next_follow_ns_;
}

// ---- While they run ----

void LocalLayers::follow(const Actions& actions) {
  if (layers_.empty() || clock_.now_ns() < next_follow_ns_) {
    return;
  }
  next_follow_ns_ = clock_.now_ns() + follow_period_ns;
  for (LocalLayer& layer : layers_) {
    follow(layer, actions);
  }
  std::erase_if(layers_, [](const LocalLayer& layer) {
    return !layer.stream && layer.sender->state() == SenderProcess::State::ended;
  });
}

void LocalLayers::follow(LocalLayer& layer, const Actions& actions) const {
  const SenderProcess::State before = layer.sender->state();
  layer.sender->follow(actions.is_ending);
  if (!layer.stream) {
    return;
  }
  if (layer.stream->status().state == SubscriberState::failed) {  // --retry is over, or the two cannot talk
    layer.is_given_up = true;
    layer.sender->stop();
    return;
  }
  const SenderProcess::State now = layer.sender->state();
  if (now == SenderProcess::State::running) {
    follow_running(layer, actions);
  } else if (now == SenderProcess::State::ended) {
    // Of frames that it has sent, those that are not shown yet still are: the subscriber knows of their end.
    const SubscriberState state = layer.stream->status().state;
    if (state == SubscriberState::waiting || state == SubscriberState::lost) {
      layer.stream->end(ExitStatus::ok);
    }
  } else if (now != before || !layer.has_failed) {
    follow_failure(layer);
  } else if (layer.sender->is_due() && !layer.is_given_up) {
    start_again(layer, actions);
  }
}

/// Its stream says why it failed until the next one is there.
void LocalLayers::follow_running(LocalLayer& layer, const Actions& actions) {
  if (layer.has_failed && layer.stream->status().session_number > layer.sessions_at_failure) {
    layer.has_failed = false;
    layer.sender->forget_reason();
    layer.stream->set_trouble("");
  }
  if (!layer.is_closed && layer.stream->status().state == SubscriberState::finished && layer.stream->is_over()) {
    layer.is_closed = true;
    actions.close(*layer.stream);
  }
}

void LocalLayers::follow_failure(LocalLayer& layer) {
  layer.has_failed = true;
  layer.sessions_at_failure = layer.stream->status().session_number;
  layer.stream->set_trouble(layer.sender->reason());
  if (layer.sender->state() == SenderProcess::State::refused) {
    layer.stream->end(layer.sender->exit_status());
  }
}

/// A sender that came to its end before it failed has ended its stream, too.
void LocalLayers::start_again(LocalLayer& layer, const Actions& actions) const {
  if (layer.stream->status().state == SubscriberState::finished) {
    StreamPointer next;
    try {
      next = actions.replace(layer.stream, layer.sender->source());
    } catch (const std::exception&) {
      return;  // no descriptors or threads, perhaps: next time
    }
    if (!next) {
      layer.is_given_up = true;
      return;
    }
    layer.stream = std::move(next);
    layer.is_closed = false;
    layer.sessions_at_failure = 0;
    layer.stream->set_trouble(layer.sender->reason());
  }
  layer.sender->start(
      {.port = layer.stream->port(), .drawn_size = drawn_size_, .rendezvous = layer.stream->rendezvous()});
  if (layer.sender->state() == SenderProcess::State::failed) {
    follow_failure(layer);
  }
}

// ---- The end ----

void LocalLayers::stop() {
  for (const LocalLayer& layer : layers_) {
    layer.sender->stop();
  }
}

void LocalLayers::wait() {
  for (const LocalLayer& layer : layers_) {
    while (layer.sender->state() == SenderProcess::State::running) {
      layer.sender->follow();
      std::array said{pollfd{.fd = layer.sender->descriptor(), .events = POLLIN, .revents = 0}};
      if (layer.sender->state() == SenderProcess::State::running) {
        wait_until(said, clock_.now_ns() + end_period_ns);
      }
    }
  }
}

}  // namespace framewire
