#include "weft/core/world/early_sums.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "weft/core/error.h"

namespace weft {
namespace {

constexpr std::size_t kBlock = 64;  // granularity of a delta in bytes

struct Run {
  std::uint64_t begin, bytes;
};

}  // namespace

std::vector<std::byte> compute_delta(std::span<const std::byte> early,
                                     std::span<const std::byte> later) {
  const auto differs = [&](std::size_t at) {
    const std::size_t bytes = std::min(kBlock, later.size() - at);
    return std::memcmp(&early[at], &later[at], bytes) != 0;
  };
  std::vector<std::byte> changes;
  for (std::size_t at = 0; at < later.size(); at += kBlock) {
    if (!differs(at)) continue;
    const std::size_t begin = at;
    while (at < later.size() && differs(at)) at += kBlock;
    const Run run{begin, std::min(at, later.size()) - begin};
    const std::span<const std::byte> head = std::as_bytes(std::span(&run, 1));
    const std::span<const std::byte> bytes = later.subspan(begin, run.bytes);
    changes.insert(changes.end(), head.begin(), head.end());
    changes.insert(changes.end(), bytes.begin(), bytes.end());
  }
  return changes;
}

void apply_delta(std::span<const std::byte> changes, std::span<std::byte> sums) {
  while (!changes.empty()) {
    Run run{};
    const bool whole = changes.size() >= sizeof run;
    if (whole) {
      std::memcpy(&run, changes.data(), sizeof run);
      changes = changes.subspan(sizeof run);
    }
    if (!whole || run.bytes > changes.size() || run.begin > sums.size() ||
        run.bytes > sums.size() - run.begin) {
      throw DataError(fmt::format("the delta for {} bytes of sums is malformed", sums.size()));
    }
    if (run.bytes > 0) std::memcpy(sums.data() + run.begin, changes.data(), run.bytes);
    changes = changes.subspan(run.bytes);
  }
}

OutgoingDelta::OutgoingDelta(Transport& transport, int to, int channel,
                             std::vector<std::byte> changes)
    : content_(std::make_unique<Content>(Content{{}, std::move(changes)})) {
  const std::uint64_t bytes = content_->changes.size();
  std::memcpy(content_->bytes.data(), &bytes, sizeof bytes);
  sent_.push_back(transport.send(to, channel, content_->bytes));
  if (bytes > 0) sent_.push_back(transport.send(to, channel, content_->changes));
}

void OutgoingDelta::wait(Transport& transport) const {
  for (const Transfer& t : sent_) transport.wait(t);
}

IncomingSums::IncomingSums(Transport& transport, int from, int channel, std::span<std::byte> sums,
                           bool changed)
    : from_(from),
      channel_(channel),
      sums_(sums),
      sums_transfer_(transport.receive(from, channel, sums)) {
  if (!changed) return;
  changes_ = std::make_unique<Changes>();
  changes_->size_transfer = transport.receive(from, channel, changes_->bytes);
}

bool IncomingSums::has_arrived(Transport& transport) {
  if (!transport.done(sums_transfer_)) return false;
  if (changes_ == nullptr || changes_->applied) return true;
  if (!transport.done(changes_->size_transfer)) return false;
  start_delta(transport);
  if (!transport.done(changes_->delta_transfer)) return false;
  apply();
  return true;
}

void IncomingSums::wait(Transport& transport) {
  transport.wait(sums_transfer_);
  if (changes_ == nullptr || changes_->applied) return;
  transport.wait(changes_->size_transfer);
  start_delta(transport);
  transport.wait(changes_->delta_transfer);
  apply();
}

void IncomingSums::start_delta(Transport& transport) {
  if (changes_->started) return;
  changes_->started = true;
  std::uint64_t bytes = 0;
  std::memcpy(&bytes, changes_->bytes.data(), sizeof bytes);
  if (bytes == 0) return;
  // A delta has its maximum size if every second block has changed.
  if (bytes > 2 * sums_.size() + sizeof(Run)) {
    throw DataError(
        fmt::format("{} sends a delta for {} bytes of sums with an impossible size of {} bytes",
                    describe_rank(transport, from_), sums_.size(), bytes));
  }
  changes_->changes.resize(bytes);
  changes_->delta_transfer = transport.receive(from_, channel_, changes_->changes);
}

void IncomingSums::apply() {
  try {
    apply_delta(changes_->changes, sums_);
  } catch (const DataError& e) {
    e.rethrow_as(fmt::format("rank {}: {}", from_, e.what()));
  }
  changes_->applied = true;
  changes_->changes = {};
}

}  // namespace weft
