#include "weft/models/text/jinja/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "weft/core/error.h"

namespace weft::chat {
namespace {

constexpr int kMaxCallDepth = 500;
// Maximum nesting depth of values, such as lists of lists.
constexpr int kMaxValueDepth = 50;
// Creating a value counts as several steps, because every value requires memory.
constexpr std::size_t kStepsOfObject = 8;

}  // namespace

std::string describe(Place place) {
  return fmt::format("line {}, column {}", place.line, place.column);
}

void Run::fail(std::string_view what) const {
  throw DataError(fmt::format("{} (chat template, {})", what, describe(place)));
}

void Run::step(std::size_t count) {
  if (count > limits_.steps - steps_)
    fail(fmt::format("rendering takes more than {} steps", limits_.steps));
  steps_ += count;
}

void Run::fail_size() const {
  fail(fmt::format("rendering produces more than {} bytes of text", limits_.bytes));
}

void Run::make_bytes(std::size_t count) {
  if (count > limits_.bytes - bytes_) fail_size();
  bytes_ += count;
}

void Run::check_size(std::size_t size) const {
  if (size > limits_.bytes - bytes_) fail_size();
}

const Value* Run::find(const Mapping& mapping, std::string_view key) {
  std::size_t compared = 0;
  const std::size_t at = mapping.position(key, compared);
  pass(Pass::compare, compared);
  return at < mapping.entries.size() ? &mapping.entries[at].second : nullptr;
}

void Run::set(Mapping& mapping, TextPtr key, Value value) {
  pass(Pass::compare, mapping.set(std::move(key), std::move(value)));
}

Value Run::text(TracedText text) {
  step(kStepsOfObject);
  make_bytes(text.footprint());
  return std::make_shared<const TracedText>(std::move(text));
}

int Run::checked_depth(int depth) const {
  if (depth > kMaxValueDepth)
    fail(fmt::format("values are nested more than {} levels deep", kMaxValueDepth));
  return depth;
}

Value Run::sequence(Sequence::Kind kind, std::vector<Value> items) {
  step(kStepsOfObject);
  int depth = 0;
  for (const Value& item : items) depth = std::max(depth, depth_of(item));
  return std::make_shared<const Sequence>(
      Sequence{kind, std::move(items), checked_depth(depth + 1)});
}

Value Run::mapping(Mapping mapping) {
  step(kStepsOfObject);
  int depth = 0;
  for (const auto& [key, value] : mapping.entries) depth = std::max(depth, depth_of(value));
  mapping.depth = checked_depth(depth + 1);
  return std::make_shared<const Mapping>(std::move(mapping));
}

Namespace* Run::make_namespace() {
  step(kStepsOfObject);
  namespaces_.push_back(std::make_unique<Namespace>());
  return namespaces_.back().get();
}

Run::Level::Level(Run& run) : run_(run) {
  if (run.depth_ >= kMaxCallDepth)
    run.fail(fmt::format("calls are nested more than {} levels deep", kMaxCallDepth));
  ++run.depth_;
  run.step();
}

}  // namespace weft::chat
