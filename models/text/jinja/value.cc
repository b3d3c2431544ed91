#include "weft/models/text/jinja/value.h"

namespace weft::chat {

std::size_t Mapping::position(std::string_view key, std::size_t& compared) const {
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::string& name = entries[i].first->text();
    compared += 16;
    if (name.size() != key.size()) continue;
    compared += key.size();
    if (name == key) return i;
  }
  return entries.size();
}

std::size_t Mapping::set(TextPtr key, Value value) {
  std::size_t compared = 0;
  const std::size_t at = position(key->text(), compared);
  if (at < entries.size()) {
    entries[at].second = std::move(value);
  } else {
    entries.emplace_back(std::move(key), std::move(value));
  }
  return compared;
}

const TracedText* as_text(const Value& value) {
  const auto* text = as<TextPtr>(value);
  return text == nullptr ? nullptr : text->get();
}

const Sequence* as_sequence(const Value& value) {
  const auto* sequence = as<SequencePtr>(value);
  return sequence == nullptr ? nullptr : sequence->get();
}

const Mapping* as_mapping(const Value& value) {
  const auto* mapping = as<MappingPtr>(value);
  return mapping == nullptr ? nullptr : mapping->get();
}

int depth_of(const Value& value) {
  if (const Sequence* sequence = as_sequence(value)) return sequence->depth;
  const Mapping* mapping = as_mapping(value);
  return mapping == nullptr ? 0 : mapping->depth;
}

Value text_value(std::string text, Origin origin) {
  return std::make_shared<const TracedText>(std::move(text), origin);
}

Value undefined(std::string what) {
  return Undefined{std::make_shared<const std::string>(std::move(what))};
}

std::string_view kind_of(const Value& value) {
  if (const Sequence* sequence = as_sequence(value)) {
    switch (sequence->kind) {
      case Sequence::Kind::list: return "a list";
      case Sequence::Kind::tuple: return "a tuple";
      case Sequence::Kind::range: return "a range";
      case Sequence::Kind::view: return "a view of a dict";
      case Sequence::Kind::iterator: return "an iterator (use '|list' to make it a list)";
    }
  }
  if (is<Undefined>(value)) return "undefined";
  if (is<None>(value)) return "none";
  if (is<bool>(value)) return "a boolean";
  if (is<std::int64_t>(value)) return "an integer";
  if (is<double>(value)) return "a float";
  if (is<TextPtr>(value)) return "a string";
  if (is<MappingPtr>(value)) return "a dict";
  if (is<Namespace*>(value)) return "a namespace";
  return "a function";
}

}  // namespace weft::chat
