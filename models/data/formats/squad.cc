#include "weft/models/data/formats/squad.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/excerpt.h"
#include "weft/models/data/batching/shuffle.h"
#include "weft/models/text/corpus/text_file.h"
#include "weft/models/text/unicode/characters.h"
#include "weft/serialization/files/atomic_file.h"
#include "weft/serialization/files/strict_json.h"

namespace weft {
namespace {

using nlohmann::json;

/// For comparison, the SQuAD training set is 42 MB in size.
constexpr JsonLimits kLimits{.max_bytes = std::size_t{1} << 30};

/// Returns the value of a key. Throws FormatError if it is missing.
const json& value_of(const json& object, const char* key, const std::string& place) {
  if (!object.is_object())
    throw FormatError(fmt::format("{} must be an object, not {}", place, json_excerpt(object)));
  const auto found = object.find(key);
  if (found == object.end()) throw FormatError(fmt::format("{} lacks '{}'", place, key));
  return *found;
}

std::string text_of(const json& object, const char* key, const std::string& place) {
  const json& value = value_of(object, key, place);
  if (value.is_string()) return value.get<std::string>();
  throw FormatError(fmt::format("{}.{} must be a string, not {}", place, key, json_excerpt(value)));
}

/// Calls visit(item, place) for each item of a list. `place` is the location of the item for
/// messages.
template <class Visit>
void for_list(const json& object, const char* key, const std::string& place, Visit&& visit) {
  const json& list = value_of(object, key, place);
  const std::string name = place.ends_with(": ") ? place + key : fmt::format("{}.{}", place, key);
  if (!list.is_array())
    throw FormatError(fmt::format("{} must be a list, not {}", name, json_excerpt(list)));
  for (std::size_t i = 0; i < list.size(); ++i) visit(list[i], fmt::format("{}[{}]", name, i));
}

/// Returns the byte offset of each code point of a text, followed by the size of the text.
std::vector<std::size_t> character_places(std::string_view text) {
  std::vector<std::size_t> places;
  for (std::size_t at = 0; at < text.size(); at += character_size(text[at])) places.push_back(at);
  places.push_back(text.size());
  return places;
}

class Reader {
 public:
  SquadData read(std::span<const std::string> paths) {
    for (const std::string& path : paths) {
      const auto before = all_.size();
      const json file = parse_json(read_utf8_file(path), path, kLimits);
      if (!file.is_object() || !file.contains("data")) {
        throw FormatError(
            fmt::format("{} is not in SQuAD's format: expected an object with 'data'", path));
      }
      for_list(file, "data", path + ": ", [&](const json& article, const std::string& where) {
        for_list(article, "paragraphs", where,
                 [&](const json& part, const std::string& at) { read_paragraph(part, at); });
      });
      if (all_.size() == before) throw FormatError(fmt::format("{} has no questions", path));
    }
    return std::move(all_);
  }

 private:
  void read_paragraph(const json& paragraph, const std::string& place) {
    all_.contexts.push_back(text_of(paragraph, "context", place));
    characters_ = character_places(all_.contexts.back());
    for_list(paragraph, "qas", place,
             [&](const json& part, const std::string& at) { read_question(part, at); });
  }

  void read_question(const json& object, const std::string& place) {
    SquadQuestion result{.id = text_of(object, "id", place),
                         .question = text_of(object, "question", place),
                         .context = all_.contexts.size() - 1,
                         .answers = {}};
    if (!ids_.insert(result.id).second) {
      throw FormatError(
          fmt::format("{}: another question has the id '{}'", place, excerpt(result.id)));
    }
    const bool none = is_impossible(object, place);
    if (!none || object.contains("answers")) {
      for_list(object, "answers", place, [&](const json& answer, const std::string& at) {
        result.answers.push_back(read_answer(answer, at, result.id));
      });
    }
    if (none != result.answers.empty()) {
      throw FormatError(fmt::format("{} (id '{}') {}", place, excerpt(result.id),
                                    none ? "is marked is_impossible, but has answers"
                                         : "has no answers, but is not marked is_impossible"));
    }
    all_.questions.push_back(std::move(result));
  }

  static bool is_impossible(const json& object, const std::string& place) {
    const auto found = object.find("is_impossible");
    if (found == object.end()) return false;
    if (found->is_boolean()) return found->get<bool>();
    throw FormatError(
        fmt::format("{}.is_impossible must be true or false, not {}", place, json_excerpt(*found)));
  }

  SquadAnswer read_answer(const json& object, const std::string& place,
                          const std::string& id) const {
    SquadAnswer answer{text_of(object, "text", place), 0};
    const json& start = value_of(object, "answer_start", place);
    if (!start.is_number_unsigned()) {
      throw FormatError(
          fmt::format("{}.answer_start must be a non-negative integer, "
                      "not {}",
                      place, json_excerpt(start)));
    }
    if (answer.text.empty())
      throw FormatError(fmt::format("{} (id '{}') is empty", place, excerpt(id)));
    const auto at = start.get<std::uint64_t>();
    const std::string_view context = all_.contexts.back();
    if (at < characters_.size()) answer.begin = characters_[at];
    if (at >= characters_.size() || !context.substr(answer.begin).starts_with(answer.text)) {
      const std::string there =
          at >= characters_.size()
              ? fmt::format("the context has {} characters", characters_.size() - 1)
              : fmt::format("the text there is '{}'",
                            excerpt(context.substr(answer.begin, answer.text.size())));
      throw FormatError(
          fmt::format("{} (id '{}'): the answer '{}' is not at character {} of its "
                      "context: {}",
                      place, excerpt(id), excerpt(answer.text), at, there));
    }
    return answer;
  }

  SquadData all_;
  std::vector<std::size_t> characters_;  // byte offsets of the characters of the last context
  std::set<std::string> ids_;
};

/// Returns the contexts for which `chosen` equals `wanted`, with their questions, in original
/// order.
SquadData part_of(const SquadData& all, const std::vector<bool>& chosen, bool wanted) {
  SquadData part;
  std::vector<std::size_t> places(all.contexts.size());
  for (std::size_t i = 0; i < all.contexts.size(); ++i) {
    if (chosen[i] != wanted) continue;
    places[i] = part.contexts.size();
    part.contexts.push_back(all.contexts[i]);
  }
  for (const SquadQuestion& question : all.questions) {
    if (chosen[question.context] != wanted) continue;
    part.questions.push_back(question);
    part.questions.back().context = places[question.context];
  }
  return part;
}

}  // namespace

std::vector<std::string> SquadQuestion::answer_texts() const {
  std::vector<std::string> texts;
  for (const SquadAnswer& answer : answers) texts.push_back(answer.text);
  return texts;
}

std::int64_t SquadData::unanswered() const {
  return std::count_if(questions.begin(), questions.end(),
                       [](const SquadQuestion& question) { return question.answers.empty(); });
}

std::vector<std::string> SquadData::texts() const {
  std::vector<std::string> result = contexts;
  for (const SquadQuestion& question : questions) result.push_back(question.question);
  return result;
}

SquadData read_squad(std::span<const std::string> paths) { return Reader().read(paths); }

void write_squad(const std::string& path, const SquadData& data) {
  std::vector<nlohmann::ordered_json> paragraphs;
  std::vector<std::vector<std::size_t>> characters;
  for (const std::string& context : data.contexts) {
    paragraphs.push_back({{"context", context}, {"qas", nlohmann::ordered_json::array()}});
    characters.push_back(character_places(context));
  }
  for (const SquadQuestion& asked : data.questions) {
    const std::vector<std::size_t>& places = characters[asked.context];
    nlohmann::ordered_json answers = nlohmann::ordered_json::array();
    for (const SquadAnswer& answer : asked.answers) {
      const auto at = std::lower_bound(places.begin(), places.end(), answer.begin);
      answers.push_back({{"text", answer.text}, {"answer_start", at - places.begin()}});
    }
    paragraphs[asked.context]["qas"].push_back({{"id", asked.id},
                                                {"question", asked.question},
                                                {"answers", std::move(answers)},
                                                {"is_impossible", asked.answers.empty()}});
  }
  nlohmann::ordered_json article = {{"title", ""}, {"paragraphs", std::move(paragraphs)}};
  const std::string text =
      nlohmann::ordered_json{{"version", "v2.0"},
                             {"data", nlohmann::ordered_json::array({std::move(article)})}}
          .dump(1) +
      "\n";
  AtomicFile file(path);
  file.write(text.data(), text.size());
  file.commit();
}

SquadSplit split_contexts(const SquadData& all, double fraction, std::uint64_t seed) {
  std::vector<bool> asked(all.contexts.size(), false);
  for (const SquadQuestion& question : all.questions) asked[question.context] = true;
  const SquadData used = part_of(all, asked, true);
  const std::vector<bool> held_out = held_out_examples(std::ssize(used.contexts), fraction, seed);
  return {part_of(used, held_out, false), part_of(used, held_out, true)};
}

}  // namespace weft
