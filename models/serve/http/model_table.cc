#include "weft/models/serve/http/model_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <malloc.h>

#include <algorithm>
#include <array>
#include <limits>
#include <set>

#include "weft/core/excerpt.h"
#include "weft/models/serve/http/protocol/api_error.h"
#include "weft/models/tasks/common/text_generator.h"
#include "weft/models/tasks/next_token/chat_session.h"

namespace weft {

ModelEntry::ModelEntry(std::shared_ptr<ServedModel> model, const std::optional<ChatFormat>& format)
    : model_(std::move(model)) {
  const Tokenizer* tokenizer = model_->tokenizer();
  if (tokenizer == nullptr) return;
  for (std::int32_t id = 0; id < tokenizer->vocab_size() && anchor_.empty(); ++id) {
    if (tokenizer->is_special(id)) continue;
    anchor_ = tokenizer->decode(std::array{std::int64_t{id}});
    anchor_id_ = id;
  }
  const TextGenerator* generator = model_->generator();
  if (generator == nullptr || model_->text() == nullptr) return;
  if (format) {
    SpecialTexts specials = format->specials();
    for (const auto& [name, text] : special_texts(*tokenizer)) specials[name] = text;
    format_ = ChatFormat::from_template(format->source(), std::move(specials));
  } else if (const ChatFormat* own = generator->chat_format()) {
    format_ = *own;
  }
  if (format_) end_ = answer_end(*tokenizer, *format_);
}

TextEngine& ModelEntry::engine() const {
  if (TextEngine* engine = model_->text()) return *engine;
  throw ApiError(400,
                 fmt::format("the model '{}' does not continue texts: it is for {}", name(),
                             fmt::join(uses(), ", ")),
                 "unsupported_model", "model");
}

const Tokenizer& ModelEntry::tokenizer() const {
  if (const Tokenizer* found = model_->tokenizer()) return *found;
  throw ApiError(400, fmt::format("the model '{}' has no tokenizer", name()), "unsupported_model",
                 "model");
}

std::optional<std::int64_t> ModelEntry::context() const {
  if (const TextEngine* engine = model_->text()) return engine->options().capacity;
  constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();
  if (model_->context() == kUnlimited) return std::nullopt;
  return model_->context();
}

const ChatFormat& ModelEntry::chat_format() const {
  if (format_) return *format_;
  engine();
  throw ApiError(400,
                 fmt::format("the model '{}' has no chat template: use /v1/completions, or start "
                             "the server with --chat-format ({} or a template file)",
                             name(), fmt::join(ChatFormat::built_in_names(), ", ")),
                 "no_chat_template", "model");
}

std::vector<std::string> ModelEntry::uses() const {
  std::vector<std::string> names;
  for (const Use use : model_->uses()) names.emplace_back(choice_name(use));
  return names;
}

GenerationOptions ModelEntry::text_options() const {
  return ChatSession::default_options(*model_->generator());
}

GenerationOptions ModelEntry::answer_options() const {
  GenerationOptions options = text_options();
  if (end_.id >= 0) {
    options.stop_ids.push_back(end_.id);
  } else if (!end_.text.empty()) {
    options.stop_texts.push_back(end_.text);
  }
  return options;
}

std::shared_ptr<const Constraint> ModelEntry::compile(const OutputForm& form) {
  if (!vocabulary_) {
    const GenerationOptions options = answer_options();
    TokenIds ends = options.stop_ids;
    if (options.eos_id >= 0) ends.push_back(options.eos_id);
    vocabulary_ = std::make_shared<const ConstraintVocabulary>(
        tokenizer(), engine().model().config.vocab, std::move(ends));
  }
  switch (form.kind) {
    case OutputForm::Kind::json_object: return Constraint::json_object(vocabulary_);
    case OutputForm::Kind::json_schema: return Constraint::json_schema(form.source, vocabulary_);
    case OutputForm::Kind::regex: return Constraint::regex(form.source, vocabulary_);
    case OutputForm::Kind::choices: return Constraint::choices(form.choices, vocabulary_);
    case OutputForm::Kind::text: break;
  }
  return nullptr;
}

std::shared_ptr<const Constraint> ModelEntry::constraint(const OutputForm& form) {
  if (form.kind == OutputForm::Kind::text) return nullptr;
  constexpr std::size_t kKept = 8;  // each has up to 84 MiB of masks and states
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(constraints_.begin(), constraints_.end(),
                                  [&](const auto& kept) { return kept.first == form; });
  if (found != constraints_.end()) {
    std::rotate(found, found + 1, constraints_.end());
    return constraints_.back().second;
  }
  const struct Trim {  // a small schema can need 50 MiB, which the C library would keep
    ~Trim() { ::malloc_trim(0); }
  } trim;
  try {
    auto compiled = compile(form);
    if (constraints_.size() >= kKept) constraints_.erase(constraints_.begin());
    constraints_.emplace_back(form, compiled);
    return compiled;
  } catch (const Error& e) {
    throw ApiError(400, e.what(), "invalid_schema", "response_format");
  }
}

std::string ModelEntry::token_bytes(std::int64_t id) const {
  const Tokenizer& texts = tokenizer();
  if (id >= texts.vocab_size()) return {};
  if (texts.is_special(static_cast<std::int32_t>(id))) return texts.piece(id);
  // Decoding the token after another one keeps the space before it.
  const std::string text = texts.decode(std::array{anchor_id_, id});
  return text.starts_with(anchor_) ? text.substr(anchor_.size()) : texts.decode(std::array{id});
}

ModelTable::ModelTable(std::vector<std::shared_ptr<ServedModel>> models,
                       const std::optional<ChatFormat>& format) {
  if (models.empty()) throw ArgumentError("a server needs at least one model");
  for (auto& model : models)
    entries_.push_back(std::make_unique<ModelEntry>(std::move(model), format));
  std::set<std::string> names;
  for (const ChosenModel& one : this->names()) {
    if (names.insert(one.name).second) continue;
    throw ArgumentError(
        fmt::format("two models or adapters have the name '{}': give one of them another name "
                    "(NAME=PATH)",
                    one.name));
  }
}

std::vector<ChosenModel> ModelTable::names() const {
  std::vector<ChosenModel> names;
  for (const auto& entry : entries_) {
    names.push_back({entry.get(), {}, entry->name()});
    if (entry->model().text() == nullptr) continue;
    for (const std::string& adapter : entry->model().text()->adapters())
      names.push_back({entry.get(), adapter, adapter});
  }
  return names;
}

ChosenModel ModelTable::find(const std::string& name) const {
  const std::vector<ChosenModel> known = names();
  if (name.empty() && entries_.size() == 1) return known.front();
  std::vector<std::string> texts;
  for (const ChosenModel& one : known) {
    if (one.name == name) return one;
    texts.push_back(one.name);
  }
  const std::string list = fmt::format("{}", fmt::join(texts, ", "));
  if (name.empty())
    throw ApiError(400, "the request lacks the field 'model': " + list, "missing_field", "model");
  throw ApiError(
      404, fmt::format("the model '{}' does not exist: this server has {}", excerpt(name), list),
      "model_not_found", "model");
}

}  // namespace weft
