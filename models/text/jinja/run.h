// The state of one template rendering: its limits and its current source location.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/models/text/jinja/template_limits.h"
#include "weft/models/text/jinja/value.h"

namespace weft::chat {

/// A location in a template. Lines and columns are counted from 1; columns count bytes.
struct Place {
  std::uint32_t line = 1, column = 1;
};
/// Returns "line 1, column 5".
std::string describe(Place place);

/// A pass over a text. The value is the number of bytes that count as one step, so that every step
/// takes about the same time.
enum class Pass : std::uint8_t {
  compare = 255,  // memcmp and memcpy
  search = 64,    // loops over bytes
  decode = 16,    // loops over characters
  convert = 4     // loops that look up properties of each character or write one by one
};

class Run {
 public:
  Run(const TemplateLimits& limits, const std::tm& now) : limits_(limits), now_(now) {}
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  /// The location of the construct that is being evaluated.
  Place place;

  const std::tm& now() const { return now_; }

  /// Throws a DataError with the message `what` and the current location.
  [[noreturn]] void fail(std::string_view what) const;
  /// Counts `count` steps. Throws DataError if the limit is exceeded.
  void step(std::size_t count = 1);
  /// Counts the steps of a pass over `bytes` bytes. Operations must count the bytes of all operands
  /// that they read, or else a template with long operands runs for hours within its limit.
  void pass(Pass pass, std::size_t bytes) { step(1 + bytes / static_cast<std::size_t>(pass)); }
  /// Counts bytes of newly created text, including intermediate results. Throws DataError if the
  /// limit is exceeded.
  void make_bytes(std::size_t count);
  /// Throws DataError if a text of `size` bytes, which is still being created, already exceeds the
  /// limit. The bytes are not counted.
  void check_size(std::size_t size) const;

  /// The steps and bytes that have been counted.
  std::size_t steps() const { return steps_; }
  std::size_t bytes() const { return bytes_; }

  /// Looks up a key and counts the compared bytes. Returns null if there is no such key.
  const Value* find(const Mapping& mapping, std::string_view key);
  /// Sets the value of a key and counts the compared bytes.
  void set(Mapping& mapping, TextPtr key, Value value);

  /// Creates a string value and counts its bytes.
  Value text(TracedText text);
  Value sequence(Sequence::Kind kind, std::vector<Value> items);
  Value list(std::vector<Value> items) { return sequence(Sequence::Kind::list, std::move(items)); }
  Value mapping(Mapping mapping);
  /// Returns a new namespace, which this Run owns.
  Namespace* make_namespace();

  /// Counts one level of nested calls and expressions. Throws DataError if the limit is exceeded.
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
  [[noreturn]] void fail_size() const;

  const TemplateLimits limits_;
  const std::tm now_;
  std::size_t steps_ = 0, bytes_ = 0;
  int depth_ = 0;
  std::vector<std::unique_ptr<Namespace>> namespaces_;
};

}  // namespace weft::chat
