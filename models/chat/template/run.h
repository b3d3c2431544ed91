// The state of one rendering of a template: its limits and its current place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/models/chat/template/value.h"
#include "weft/models/chat/template_limits.h"

namespace weft::chat {

/// A place in a template, counted from 1. Columns count bytes.
struct Place {
  std::uint32_t line = 1, column = 1;
};
/// Returns "line 1, column 5".
std::string describe(Place place);

class Run {
 public:
  Run(const TemplateLimits& limits, const std::tm& now) : limits_(limits), now_(now) {}
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  /// The place of the construct that is being evaluated.
  Place place;

  const std::tm& now() const { return now_; }

  /// Throws DataError with `what` and the current place.
  [[noreturn]] void fail(std::string_view what) const;
  /// Counts `count` steps. Throws DataError beyond the limit.
  void step(std::size_t count = 1);
  /// Counts bytes of text that is created, including intermediate results. Throws DataError beyond
  /// the limit.
  void make_bytes(std::size_t count);

  /// Makes a string value and counts its bytes.
  Value text(TracedText text);
  Value sequence(Sequence::Kind kind, std::vector<Value> items);
  Value list(std::vector<Value> items) { return sequence(Sequence::Kind::list, std::move(items)); }
  Value mapping(Mapping mapping);
  /// Returns a new namespace, which the Run owns.
  Namespace* make_namespace();

  /// Counts a level of nested calls and expressions. Throws DataError beyond the limit.
  class Level {
   public:
    explicit Level(Run& run);
    ~Level() { --run_.depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    Run& run_;
  };

 private:
  int checked_depth(int depth) const;

  const TemplateLimits limits_;
  const std::tm now_;
  std::size_t steps_ = 0, bytes_ = 0;
  int depth_ = 0;
  std::vector<std::unique_ptr<Namespace>> namespaces_;
};

}  // namespace weft::chat
