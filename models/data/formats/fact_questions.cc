#include "weft/models/data/formats/fact_questions.h"

#include <fmt/format.h>

#include <array>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/core/error.h"
#include "weft/models/data/rng.h"

namespace weft {
namespace {

constexpr std::size_t kPeople = 3, kFactsEach = 2, kQuestions = 4;

constexpr std::string_view kFirstNames[] = {
    "Ada",  "Bruno", "Clara", "Dario", "Elsa", "Felix", "Greta", "Hugo", "Ida",   "Jonas",
    "Karl", "Lena",  "Mara",  "Nils",  "Olga", "Pavel", "Rosa",  "Sven", "Tilda", "Viktor"};
constexpr std::string_view kLastNames[] = {
    "Adler", "Berg", "Conti",  "Dahl",  "Ekman", "Fuchs", "Grimm", "Holm",  "Ivers", "Jensen",
    "Klein", "Lind", "Moreau", "Novak", "Ortiz", "Palme", "Rossi", "Sorel", "Toth",  "Winter"};
constexpr std::string_view kTowns[] = {"Aachen", "Basel", "Cadiz", "Delft",  "Evora", "Faro",
                                       "Genoa",  "Hull",  "Izmir", "Jena",   "Kiel",  "Lund",
                                       "Metz",   "Namur", "Oslo",  "Porto",  "Riga",  "Siena",
                                       "Turku",  "Ulm",   "Vigo",  "Zagreb", "Ghent", "Bergen"};
constexpr std::string_view kJobs[] = {"a baker",    "a nurse",   "a pilot",   "a painter",
                                      "a teacher",  "a tailor",  "a lawyer",  "a farmer",
                                      "a plumber",  "a surgeon", "a dancer",  "a printer",
                                      "a gardener", "a barber",  "a butcher", "a fisherman"};
constexpr std::string_view kLooks[] = {"black", "white", "grey",  "brown",
                                       "red",   "lame",  "young", "spotted"};
constexpr std::string_view kAnimals[] = {"cat",  "dog",   "goat",   "horse", "rabbit",
                                         "duck", "mouse", "parrot", "sheep", "snake"};

/// Wordings of a type of fact and of the questions about it. # stands for the person, * for the
/// fact.
struct FactKind {
  std::array<std::string_view, 3> sentences, what, who;
};
constexpr FactKind kKinds[] = {
    {{"# lives in *.", "* is the home of #.", "# has a house in *."},
     {"Where does # live?", "In which town does # live?", "What town is the home of #?"},
     {"Who lives in *?", "Whose home is *?", "Who has a house in *?"}},
    {{"# works as *.", "# is *.", "By trade # is *."},
     {"What is the job of #?", "What does # do for a living?", "As what does # work?"},
     {"Who is *?", "Who works as *?", "Which of them is * by trade?"}},
    {{"# was born in *.", "In * # was born.", "The year when # was born is *."},
     {"When was # born?", "In which year was # born?", "What year was # born in?"},
     {"Who was born in *?", "Whose year of birth is *?", "Who came into the world in *?"}},
    {{"# keeps *.", "# owns *.", "At home # has *."},
     {"What animal does # keep?", "What does # keep at home?", "Which animal does # own?"},
     {"Who keeps *?", "Who owns *?", "Who has * at home?"}}};
constexpr std::size_t kBorn = 2, kKeeps = 3;

struct Fact {
  std::size_t kind, sentence;
  std::string person, what;
};

std::string filled(std::string_view words, const Fact& fact) {
  std::string text;
  for (const char c : words) {
    if (c == '#') {
      text += fact.person;
    } else if (c == '*') {
      text += fact.what;
    } else {
      text += c;
    }
  }
  return text;
}

class FactWriter {
 public:
  explicit FactWriter(std::uint64_t seed) : rng_(stable_hash("weft.data.fact_questions", seed)) {}

  void add_text(SquadData& data) {
    std::vector<Fact> facts = draw_facts();
    std::string context;
    std::vector<std::size_t> places;  // start offset of each sentence
    for (const Fact& fact : facts) {
      if (!context.empty()) context += ' ';
      places.push_back(context.size());
      context += filled(kKinds[fact.kind].sentences[fact.sentence], fact);
    }
    data.contexts.push_back(context);
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < facts.size(); ++i) order.push_back(i);
    rng_.shuffle(order);
    for (std::size_t q = 0; q < kQuestions; ++q) {
      const Fact& fact = facts[order[q]];
      const bool who = rng_.below(2) == 0;
      const auto& forms = who ? kKinds[fact.kind].who : kKinds[fact.kind].what;
      const std::string& answer = who ? fact.person : fact.what;
      data.questions.push_back({fmt::format("{}.{}", data.contexts.size(), q + 1),
                                filled(pick(forms), fact),
                                data.contexts.size() - 1,
                                {{answer, context.find(answer, places[order[q]])}}});
    }
  }

 private:
  std::string_view pick(std::span<const std::string_view> list) {
    return list[static_cast<std::size_t>(rng_.below(std::ssize(list)))];
  }

  std::string draw_what(std::size_t kind) {
    if (kind == kBorn) return std::to_string(1930 + rng_.below(80));
    if (kind == kKeeps) {
      const std::string_view looks = pick(kLooks);
      return fmt::format("a {} {}", looks, pick(kAnimals));
    }
    return std::string(kind == 0 ? pick(kTowns) : pick(kJobs));
  }

  /// Returns random facts. No two people share a name or a fact.
  std::vector<Fact> draw_facts() {
    std::vector<std::string_view> first(std::begin(kFirstNames), std::end(kFirstNames)),
        last(std::begin(kLastNames), std::end(kLastNames));
    rng_.shuffle(first);
    rng_.shuffle(last);
    std::vector<Fact> facts;
    for (std::size_t p = 0; p < kPeople; ++p) {
      std::vector<std::size_t> kinds = {0, 1, 2, 3};
      rng_.shuffle(kinds);
      for (std::size_t f = 0; f < kFactsEach; ++f) {
        Fact fact{kinds[f], static_cast<std::size_t>(rng_.below(3)),
                  fmt::format("{} {}", first[p], last[p]), draw_what(kinds[f])};
        while (known(facts, fact.what)) fact.what = draw_what(fact.kind);
        facts.push_back(std::move(fact));
      }
    }
    rng_.shuffle(facts);
    return facts;
  }

  static bool known(const std::vector<Fact>& facts, const std::string& what) {
    for (const Fact& fact : facts) {
      if (fact.what == what) return true;
    }
    return false;
  }

  Rng rng_;
};

}  // namespace

SquadData fact_questions(std::int64_t count, std::uint64_t seed) {
  if (count < 0) throw ArgumentError(fmt::format("cannot generate {} texts", count));
  SquadData data;
  FactWriter writer(seed);
  for (std::int64_t i = 0; i < count; ++i) writer.add_text(data);
  return data;
}

}  // namespace weft
