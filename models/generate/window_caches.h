// Sizes and contents of key and value caches: layers with a window keep only the newest tokens
// (GptDecodeInputs::piece), and some rotary scaling makes all keys outdated.
#pragma once

#include "weft/graph/run/session.h"
#include "weft/models/families/gpt_config.h"

namespace WEFT_API weft {

/// Returns true if a text that grows from `before` to `after` tokens needs all its keys again: with
/// longrope, all frequencies change at that point, and transformers also computes the text again.
bool changes_rotation(const GptConfig& config, std::int64_t before, std::int64_t after);

/// The caches of a decode program. In programs without ring buffers, such as those of old files,
/// all layers keep all tokens.
class WindowCaches {
 public:
  /// `graph` contains the program.
  WindowCaches(const Graph& graph, const GptConfig& config);

  /// Sets the largest length of a text and the largest number of new tokens per run.
  void resize(std::int64_t capacity, std::int64_t piece);
  /// Returns the sizes for RunOptions.
  DimValues sizes() const;
  /// Returns how many of `added` new tokens, which follow `filled` earlier ones, the next run may
  /// process: all of them if the ring buffers have room, otherwise at most `piece`.
  std::int64_t next_piece(std::int64_t filled, std::int64_t added) const;
  /// Returns true if a text can continue after its first `length` tokens, although `written` tokens
  /// were written: the ring buffers still contain the window before the next token. This is always
  /// true for 0 tokens, after which `written` begins at 0 again.
  bool keeps(std::int64_t length, std::int64_t written) const;

 private:
  bool circular_;
  std::int64_t window_, capacity_ = 0, piece_ = 0;
  std::int64_t kept_ = 0;  // size of the ring buffers
};

}  // namespace weft
