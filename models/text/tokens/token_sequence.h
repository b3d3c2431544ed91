// Interface for sequences of ids in memory or in token files.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "weft/models/text/tokens/token_set.h"

namespace WEFT_API weft {

/// A sequence of ids, in memory or in token files. Thread-safe.
class TokenSequence {
 public:
  virtual ~TokenSequence() = default;
  virtual std::int64_t size() const = 0;
  /// Reads the ids from position `begin` on into `ids`. The range must be within the sequence.
  virtual void read(std::int64_t begin, std::span<std::int32_t> ids) const = 0;
};

class TokensInMemory final : public TokenSequence {
 public:
  explicit TokensInMemory(std::vector<std::int32_t> ids) : ids_(std::move(ids)) {}
  std::int64_t size() const override { return std::ssize(ids_); }
  void read(std::int64_t begin, std::span<std::int32_t> ids) const override {
    std::copy_n(ids_.begin() + begin, ids.size(), ids.begin());
  }

 private:
  std::vector<std::int32_t> ids_;
};

class TokensInFiles final : public TokenSequence {
 public:
  explicit TokensInFiles(TokenSet set) : set_(std::move(set)) {}
  std::int64_t size() const override { return set_.tokens(); }
  void read(std::int64_t begin, std::span<std::int32_t> ids) const override {
    set_.read(begin, ids);
  }

 private:
  TokenSet set_;
};

/// A part of a sequence that is used for training or validation.
struct TokenPart {
  std::shared_ptr<const TokenSequence> ids;
  std::int64_t begin = 0, size = 0;
  /// The name of the source for messages; "" if there is only one source.
  std::string name = {};

  /// Reads the ids from position `from` (relative to the part) on into `to`.
  void read(std::int64_t from, std::span<std::int32_t> to) const { ids->read(begin + from, to); }
};

}  // namespace weft
