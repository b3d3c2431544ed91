// Constraints of generated texts: JSON that conforms to a schema, regular expressions, choices.
//
//   const auto vocabulary = std::make_shared<const ConstraintVocabulary>(tokenizer, end_ids);
//   const auto constraint = Constraint::json_schema(R"({"type": "object", ...})", vocabulary);
//   ConstraintState state(constraint);
//   state.allowed_ids(mask);  // before every token
//   state.accept(id);         // after every token
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/export.h"
#include "weft/models/text/tokenizers/tokenizer.h"

namespace WEFT_API weft {

/// The bytes of every token, as a trie. Immutable; built once per model, shared by all constraints.
class ConstraintVocabulary {
 public:
  /// `vocab` is the number of ids of the model, `end_ids` the ids that end a text. Special ids and
  /// ids outside the tokenizer's vocabulary are never allowed. The bytes of a token are those that
  /// it adds to a text: "\u2581the" is " the", also at the beginning of a text. Without end ids, a
  /// text ends only where nothing else can follow. Throws ArgumentError if an end id is outside the
  /// model's ids.
  ConstraintVocabulary(const Tokenizer& tokenizer, std::int64_t vocab,
                       std::vector<std::int64_t> end_ids);
  /// Uses the given bytes of each id. Ids without bytes are never allowed.
  ConstraintVocabulary(std::vector<std::string> token_bytes, std::int64_t vocab,
                       std::vector<std::int64_t> end_ids);
  ~ConstraintVocabulary();
  std::int64_t size() const;

 private:
  friend class Constraint;
  struct Impl;
  std::unique_ptr<const Impl> impl_;
};

/// Limits of a constraint, so that hostile schemas cannot take much time or memory.
struct ConstraintLimits {
  std::int64_t source_bytes = 256 << 10;
  std::int64_t depth = 64;        // nesting of schemas and groups
  std::int64_t states = 200'000;  // of all automata
};

/// A compiled constraint. Immutable and thread-safe.
class Constraint {
 public:
  /// JSON that conforms to a schema: the subset that OpenAI's structured outputs accept. Throws
  /// FormatError (not valid JSON or not a valid schema), ArgumentError that names the keyword and
  /// its place (JSON pointer) if the schema uses a keyword that is not supported, or the limit that
  /// it exceeds.
  static std::shared_ptr<const Constraint> json_schema(
      std::string_view schema, std::shared_ptr<const ConstraintVocabulary> vocabulary,
      const ConstraintLimits& limits = {});
  /// Any JSON object (response_format json_object).
  static std::shared_ptr<const Constraint> json_object(
      std::shared_ptr<const ConstraintVocabulary> vocabulary, const ConstraintLimits& limits = {});
  /// Texts that match a regular expression as a whole.
  /// The syntax is that of ECMAScript without assertions (except the anchors ^ and $ at the ends of
  /// top-level alternatives), back references and Unicode properties. Throws FormatError with the
  /// byte offset of the error, and the ArgumentErrors of json_schema() about limits.
  static std::shared_ptr<const Constraint> regex(
      std::string_view pattern, std::shared_ptr<const ConstraintVocabulary> vocabulary,
      const ConstraintLimits& limits = {});
  /// One of several texts.
  static std::shared_ptr<const Constraint> choices(
      std::span<const std::string> texts, std::shared_ptr<const ConstraintVocabulary> vocabulary,
      const ConstraintLimits& limits = {});
  ~Constraint();

 private:
  friend class ConstraintState;
  struct Impl;
  explicit Constraint(std::unique_ptr<const Impl> impl);
  std::unique_ptr<const Impl> impl_;
};

/// The position of one text within a constraint. Copies are cheap.
class ConstraintState {
 public:
  explicit ConstraintState(std::shared_ptr<const Constraint> constraint);
  ConstraintState(const ConstraintState&);
  ConstraintState& operator=(const ConstraintState&);
  ~ConstraintState();

  /// Sets bit i % 64 of mask[i / 64] for every id i that may follow, and clears the others. End ids
  /// may follow if the text is complete. `mask` has at least (vocab + 63) / 64 words.
  void allowed_ids(std::span<std::uint64_t> mask) const;
  /// Continues with an id. Throws DataError if it is not allowed.
  void accept(std::int64_t id);
  /// Returns true if the text may end here.
  bool is_complete() const;
  /// Returns true if nothing but an end id can follow.
  bool is_final() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft
