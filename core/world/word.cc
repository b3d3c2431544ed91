#include "weft/core/world/word.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace weft {
namespace {

constexpr std::uint32_t kMagic = 0x74666557;  // "Weft"

// The layout of a serialised message.
struct Frame {
  std::uint32_t magic = kMagic;
  std::uint32_t protocol = kWorldProtocol;
  std::uint32_t kind = 0;
  std::int32_t rank = 0;
  double phase_seconds = 0;
  std::uint64_t sent = 0, received = 0;
  std::array<char, 984> text = {};  // zero-terminated
};
static_assert(sizeof(Frame) == kWordBytes);

bool is_kind(std::uint32_t kind) {
  return kind >= static_cast<std::uint32_t>(Word::Kind::alive) &&
         kind <= static_cast<std::uint32_t>(Word::Kind::question);
}

}  // namespace

WordBytes write_word(const Word& word) {
  Frame frame;
  frame.kind = static_cast<std::uint32_t>(word.kind);
  frame.rank = word.rank;
  frame.phase_seconds = word.phase_seconds;
  frame.sent = word.sent;
  frame.received = word.received;
  std::memcpy(frame.text.data(), word.text.data(),
              std::min(word.text.size(), frame.text.size() - 1));
  WordBytes bytes;
  std::memcpy(bytes.data(), &frame, sizeof frame);
  return bytes;
}

std::optional<Word> read_word(std::span<const std::byte> bytes, int ranks) {
  Frame frame;
  if (bytes.size() != sizeof frame) return std::nullopt;
  std::memcpy(&frame, bytes.data(), sizeof frame);
  const auto end = std::find(frame.text.begin(), frame.text.end(), '\0');
  if (frame.magic != kMagic || frame.protocol != kWorldProtocol || !is_kind(frame.kind) ||
      frame.rank < 0 || frame.rank >= ranks || !std::isfinite(frame.phase_seconds) ||
      frame.phase_seconds < 0 || end == frame.text.end()) {
    return std::nullopt;
  }
  return Word{.kind = static_cast<Word::Kind>(frame.kind),
              .rank = frame.rank,
              .phase_seconds = frame.phase_seconds,
              .sent = frame.sent,
              .received = frame.received,
              .text = std::string(frame.text.begin(), end)};
}

std::vector<int> who_is_told(int rank, int ranks) {
  std::vector<int> told;
  for (int step = 1; step < ranks; step *= 2) {
    told.push_back((rank + step) % ranks);
    told.push_back((rank + ranks - step) % ranks);
  }
  std::sort(told.begin(), told.end());
  told.erase(std::unique(told.begin(), told.end()), told.end());
  return told;
}

}  // namespace weft
