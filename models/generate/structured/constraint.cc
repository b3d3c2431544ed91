#include "weft/models/generate/structured/constraint.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "weft/core/error.h"
#include "weft/models/generate/structured/json_rules.h"
#include "weft/models/generate/structured/position.h"
#include "weft/models/generate/structured/regex.h"
#include "weft/models/generate/structured/schema.h"
#include "weft/models/generate/structured/token_masks.h"
#include "weft/models/generate/structured/token_trie.h"
#include "weft/models/text/unicode/repair.h"

namespace weft::structured {
namespace {

Position start_of(const Grammar& grammar) {
  const std::int32_t start[] = {grammar.rules[static_cast<std::size_t>(grammar.root)]};
  return {grammar, start};
}

void check_size(std::size_t bytes, const ConstraintLimits& limits) {
  if (static_cast<std::int64_t>(bytes) > limits.source_bytes) {
    throw ArgumentError(
        fmt::format("the constraint has {} bytes, but at most {} are allowed "
                    "(ConstraintLimits::source_bytes)",
                    bytes, limits.source_bytes));
  }
}

/// Returns a grammar with one rule, whose body emit(grammar, start) emits.
template <class Emit>
Grammar one_rule(const ConstraintLimits& limits, Emit emit) {
  GrammarBuilder grammar(limits.states);
  const std::int32_t rule = grammar.add_rule();
  grammar.end(emit(grammar, grammar.start(rule)));
  return std::move(grammar).finish(rule);
}

}  // namespace
}  // namespace weft::structured

namespace weft {

struct Constraint::Impl {
  Impl(structured::Grammar compiled, std::shared_ptr<const ConstraintVocabulary> tokens)
      : grammar(std::move(compiled)),
        vocabulary(std::move(tokens)),
        start(structured::start_of(grammar)),
        masks(grammar, vocabulary->impl_->trie, vocabulary->size()) {}

  const ConstraintVocabulary::Impl& tokens() const { return *vocabulary->impl_; }

  const structured::Grammar grammar;
  const std::shared_ptr<const ConstraintVocabulary> vocabulary;
  const structured::Position start;
  mutable std::mutex mutex;  // of `masks`
  mutable structured::TokenMasks masks;
};

Constraint::Constraint(std::unique_ptr<const Impl> impl) : impl_(std::move(impl)) {}
Constraint::~Constraint() = default;

std::shared_ptr<const Constraint> Constraint::json_schema(
    std::string_view schema, std::shared_ptr<const ConstraintVocabulary> vocabulary,
    const ConstraintLimits& limits) {
  structured::check_size(schema.size(), limits);
  return std::shared_ptr<const Constraint>(new Constraint(std::make_unique<const Impl>(
      structured::schema_grammar(schema, limits), std::move(vocabulary))));
}

std::shared_ptr<const Constraint> Constraint::json_object(
    std::shared_ptr<const ConstraintVocabulary> vocabulary, const ConstraintLimits& limits) {
  return json_schema(R"({"type":"object"})", std::move(vocabulary), limits);
}

std::shared_ptr<const Constraint> Constraint::regex(
    std::string_view pattern, std::shared_ptr<const ConstraintVocabulary> vocabulary,
    const ConstraintLimits& limits) {
  structured::check_size(pattern.size(), limits);
  structured::Grammar compiled =
      structured::one_rule(limits, [&](structured::GrammarBuilder& grammar, std::int32_t start) {
        return structured::emit_regex(grammar, start, {pattern, structured::RegexMatch::whole},
                                      structured::TextForm::plain, limits);
      });
  return std::shared_ptr<const Constraint>(
      new Constraint(std::make_unique<const Impl>(std::move(compiled), std::move(vocabulary))));
}

std::shared_ptr<const Constraint> Constraint::choices(
    std::span<const std::string> texts, std::shared_ptr<const ConstraintVocabulary> vocabulary,
    const ConstraintLimits& limits) {
  if (texts.empty()) throw ArgumentError("a constraint needs at least one choice");
  std::size_t bytes = 0;
  for (const std::string& text : texts) {
    if (find_invalid_utf8(text) < text.size())
      throw FormatError(fmt::format("choice {} is not valid UTF-8", &text - texts.data()));
    bytes += text.size();
  }
  structured::check_size(bytes, limits);
  structured::Grammar compiled =
      structured::one_rule(limits, [&](structured::GrammarBuilder& grammar, std::int32_t start) {
        return grammar.one_of(start, {texts.begin(), texts.end()});
      });
  return std::shared_ptr<const Constraint>(
      new Constraint(std::make_unique<const Impl>(std::move(compiled), std::move(vocabulary))));
}

struct ConstraintState::Impl {
  std::shared_ptr<const Constraint> constraint;
  structured::Position position;
  bool has_ended = false;  // with an end id
};

ConstraintState::ConstraintState(std::shared_ptr<const Constraint> constraint) {
  structured::Position start = constraint->impl_->start;
  impl_ = std::make_unique<Impl>(Impl{std::move(constraint), std::move(start)});
}
ConstraintState::ConstraintState(const ConstraintState& other)
    : impl_(std::make_unique<Impl>(*other.impl_)) {}
ConstraintState& ConstraintState::operator=(const ConstraintState& other) {
  *impl_ = *other.impl_;
  return *this;
}
ConstraintState::~ConstraintState() = default;

void ConstraintState::allowed_ids(std::span<std::uint64_t> mask) const {
  const Constraint::Impl& constraint = *impl_->constraint->impl_;
  const std::size_t words = static_cast<std::size_t>(constraint.vocabulary->size() + 63) / 64;
  if (mask.size() < words) {
    throw ArgumentError(fmt::format("the mask of allowed ids has {} words, but {} ids need {}",
                                    mask.size(), constraint.vocabulary->size(), words));
  }
  std::fill(mask.begin(), mask.end(), 0);
  if (!impl_->has_ended) {
    const std::lock_guard lock(constraint.mutex);
    constraint.masks.allow(impl_->position, mask);
  }
  if (is_complete()) {
    for (const std::int64_t id : constraint.tokens().end_ids)
      mask[static_cast<std::size_t>(id) / 64] |= std::uint64_t{1} << (id % 64);
  }
}

void ConstraintState::accept(std::int64_t id) {
  const Constraint::Impl& constraint = *impl_->constraint->impl_;
  const auto& tokens = constraint.tokens();
  const auto fail = [&] {
    throw DataError(fmt::format("id {} is not allowed by the constraint at this position", id));
  };
  if (std::find(tokens.end_ids.begin(), tokens.end_ids.end(), id) != tokens.end_ids.end()) {
    if (!is_complete()) fail();
    impl_->has_ended = true;
    return;
  }
  if (id < 0 || id >= tokens.size || impl_->has_ended) fail();
  const std::string& bytes = tokens.bytes[static_cast<std::size_t>(id)];
  if (bytes.empty()) fail();
  structured::Position position = impl_->position;
  for (const char byte : bytes) {
    position = position.after(constraint.grammar, static_cast<std::uint8_t>(byte));
    if (position.is_dead()) fail();
  }
  impl_->position = std::move(position);
}

bool ConstraintState::is_complete() const { return impl_->has_ended || impl_->position.is_end(); }

bool ConstraintState::is_final() const {
  return impl_->has_ended || (impl_->position.is_end() && impl_->position.items().empty());
}

}  // namespace weft
