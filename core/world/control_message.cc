#include "weft/core/world/control_message.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace weft {
namespace {

constexpr std::uint32_t kMagic = 0x74666557;  // "Weft"

// The memory layout of a serialised message.
struct Frame {
  std::uint32_t magic = kMagic;
  std::uint32_t protocol = kWorldProtocol;
  std::uint32_t kind = 0;
  std::int32_t rank = 0;
  double phase_seconds = 0;
  std::uint64_t sent = 0, received = 0;
  std::array<char, 984> text = {};  // zero-terminated
};
static_assert(sizeof(Frame) == kControlMessageBytes);

bool is_kind(std::uint32_t kind) {
  return kind >= static_cast<std::uint32_t>(ControlMessage::Kind::heartbeat) &&
         kind <= static_cast<std::uint32_t>(ControlMessage::Kind::ping);
}

}  // namespace

ControlMessageBytes encode_control_message(const ControlMessage& message) {
  Frame frame;
  frame.kind = static_cast<std::uint32_t>(message.kind);
  frame.rank = message.rank;
  frame.phase_seconds = message.phase_seconds;
  frame.sent = message.sent;
  frame.received = message.received;
  std::memcpy(frame.text.data(), message.text.data(),
              std::min(message.text.size(), frame.text.size() - 1));
  ControlMessageBytes bytes;
  std::memcpy(bytes.data(), &frame, sizeof frame);
  return bytes;
}

std::optional<ControlMessage> decode_control_message(std::span<const std::byte> bytes, int ranks) {
  Frame frame;
  if (bytes.size() != sizeof frame) return std::nullopt;
  std::memcpy(&frame, bytes.data(), sizeof frame);
  const auto end = std::find(frame.text.begin(), frame.text.end(), '\0');
  if (frame.magic != kMagic || frame.protocol != kWorldProtocol || !is_kind(frame.kind) ||
      frame.rank < 0 || frame.rank >= ranks || !std::isfinite(frame.phase_seconds) ||
      frame.phase_seconds < 0 || end == frame.text.end()) {
    return std::nullopt;
  }
  return ControlMessage{.kind = static_cast<ControlMessage::Kind>(frame.kind),
                        .rank = frame.rank,
                        .phase_seconds = frame.phase_seconds,
                        .sent = frame.sent,
                        .received = frame.received,
                        .text = std::string(frame.text.begin(), end)};
}

std::vector<int> broadcast_targets(int rank, int ranks) {
  std::vector<int> targets;
  for (int step = 1; step < ranks; step *= 2) {
    targets.push_back((rank + step) % ranks);
    targets.push_back((rank + ranks - step) % ranks);
  }
  std::sort(targets.begin(), targets.end());
  targets.erase(std::unique(targets.begin(), targets.end()), targets.end());
  return targets;
}

}  // namespace weft
