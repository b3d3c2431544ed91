// Rendering counts the work on every long operand, so that no template runs much longer than its
// step limit suggests.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fixtures.h"
#include "weft/core/error.h"
#include "weft/models/text/jinja/builtin.h"
#include "weft/models/text/jinja/template.h"
#include "weft/models/text/jinja/text_search.h"
#include "weft/tests/support/messages.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(chat_template_cost)
namespace {

using chat::Builtin;
using chat::Mapping;
using chat::MappingPtr;
using chat::Sequence;
using chat::SequencePtr;
using chat::Value;
using testing::says;

constexpr std::size_t kBytes = std::size_t{1} << 13;
constexpr std::size_t kItems = std::size_t{1} << 8;

Value text_of(std::size_t size) { return chat::text_value(std::string(size, 'a')); }

Value sequence_of(Sequence::Kind kind, std::vector<Value> items) {
  return std::make_shared<const Sequence>(Sequence{kind, std::move(items), 2});
}

Value mapping_of(std::size_t entries, std::size_t key_size) {
  Mapping mapping;
  for (std::size_t i = 0; i < entries; ++i) {
    std::string key = std::to_string(i);
    key.insert(0, key_size - std::min(key.size(), key_size), 'a');
    mapping.entries.emplace_back(std::make_shared<const chat::TracedText>(std::move(key)),
                                 chat::text_value("a"));
  }
  return std::make_shared<const Mapping>(std::move(mapping));
}

/// A long operand and a short one of the same type.
struct Operand {
  std::string_view name;
  char type;  // T for texts, L for lists and tuples, D for dicts
  Value small, large, equal_to_large;
  std::size_t size;  // the bytes that the large one has in addition; an item counts as 64 bytes
};

std::vector<Operand> operands() {
  const auto text = [](std::string_view name, char character) {
    const std::string large(kBytes, character);
    return Operand{name,
                   'T',
                   chat::text_value({character}),
                   chat::text_value(large),
                   chat::text_value(large),
                   kBytes - 1};
  };
  const auto sequence = [](std::string_view name, Sequence::Kind kind) {
    const auto of = [&](std::size_t count) {
      return sequence_of(kind, std::vector<Value>(count, text_of(1)));
    };
    return Operand{name, 'L', of(1), of(kItems), of(kItems), 64 * (kItems - 1)};
  };
  return {text("text", 'a'),
          text("digits", '1'),
          text("blanks", ' '),
          sequence("list", Sequence::Kind::list),
          sequence("tuple", Sequence::Kind::tuple),
          {"dict", 'D', mapping_of(1, 8), mapping_of(kItems, 8), mapping_of(kItems, 8),
           16 * (kItems - 1)}};
}

/// Returns the work that a call counts, in bytes, or std::nullopt if it fails.
std::optional<std::size_t> work_of(const Builtin& builtin, const Value& subject,
                                   const std::vector<Value>& arguments) {
  constexpr std::size_t kBytesPerStep = 256;
  const std::size_t most = std::numeric_limits<std::size_t>::max();
  // Calls that create long texts are slow, and counted by the bytes of their results.
  chat::Run run({.steps = most, .bytes = std::size_t{1} << 17}, testing::chat_time());
  try {
    call(run, builtin, subject, arguments);
  } catch (const DataError&) {
    return std::nullopt;
  }
  return run.steps() * kBytesPerStep + run.bytes();
}

struct Table {
  std::string_view name;
  std::span<const Builtin> builtins;
  std::vector<Value> subjects;  // short ones
};

std::vector<Table> tables() {
  const Value text = text_of(1), list = sequence_of(Sequence::Kind::list, {text_of(1)}),
              dict = mapping_of(1, 1), number = std::int64_t{1};
  return {{"filter", chat::text_filters(), {text}},
          {"filter", chat::sequence_filters(), {list, dict}},
          {"test", chat::value_tests(), {text, number}},
          {"function", chat::functions(), {chat::None()}},
          {"method", chat::text_methods(), {text}},
          {"method", chat::mapping_methods(), {dict}},
          {"method", chat::sequence_methods(), {list}}};
}

/// Returns the types of operands that a builtin does not read completely. `place` is "TABLE NAME
/// NUMBER": number 0 is the subject, and number i is the i-th argument.
std::string_view unread(const std::string& place) {
  static const std::map<std::string, std::string_view, std::less<>> all = {
      {"filter count 0", "LD"},
      {"filter length 0", "LD"},
      {"filter d 0", "TLD"},
      {"filter d 1", "TLD"},
      {"filter d 2", "TLD"},
      {"filter default 0", "TLD"},
      {"filter default 1", "TLD"},
      {"filter default 2", "TLD"},
      {"filter float 0", "LD"},
      {"filter float 1", "TLD"},
      {"filter int 0", "LD"},
      {"filter int 1", "TLD"},
      {"filter indent 1", "T"},
      {"filter indent 2", "TLD"},
      {"filter indent 3", "TLD"},
      {"filter safe 0", "T"},
      {"filter string 0", "T"},
      {"filter tojson 1", "TLD"},
      {"filter tojson 2", "T"},
      {"filter tojson 4", "TLD"},
      {"filter join 2", "LD"},
      {"filter rejectattr 1", "LD"},
      {"filter selectattr 1", "LD"},
      {"test filter 0", "T"},
      {"test in 0", "LD"},
      {"test test 0", "T"},
      {"method endswith 0", "T"},
      {"method endswith 1", "L"},
      {"method startswith 0", "T"},
      {"method startswith 1", "L"},
      {"method get 1", "TLD"},
      {"method get 2", "TLD"},
      {"method count 1", "TLD"},
      {"method index 0", "L"},
      {"method removeprefix 0", "T"},
      {"method removesuffix 0", "T"}};
  const auto found = all.find(place);
  return found == all.end() ? std::string_view() : found->second;
}

/// Tests that depend on the type of a value or on its identity only.
bool is_constant(std::string_view test) {
  static const std::set<std::string_view> all = {
      "boolean", "callable", "defined", "false",    "float",  "integer", "iterable", "mapping",
      "none",    "number",   "sameas",  "sequence", "string", "true",    "undefined"};
  return all.contains(test);
}

/// Returns the most work that calls of a builtin count for `operand` at `place`, in addition to the
/// work for a short operand, or std::nullopt if all calls fail. The other arguments are short, or
/// the same long operand.
std::optional<std::size_t> counted_work(const Table& table, const Builtin& builtin,
                                        std::size_t place, const Operand& operand) {
  std::vector<Value> others = {
      text_of(1),       std::int64_t{1},
      chat::None(),     sequence_of(Sequence::Kind::list, {text_of(1), text_of(1)}),
      mapping_of(1, 1), operand.equal_to_large};
  std::vector<Value> subjects = table.subjects;
  subjects.push_back(operand.equal_to_large);
  std::vector<std::size_t> choice(std::max(builtin.required, place), 0);
  std::optional<std::size_t> most;
  while (true) {
    std::vector<Value> arguments;
    for (const std::size_t i : choice) arguments.push_back(others[i]);
    for (const Value& other : subjects) {
      const auto work = [&](const Value& value) {
        const Value& subject = place == 0 ? value : other;
        if (place > 0) arguments[place - 1] = value;
        // The interpreter selects a method by the type of its subject.
        return table.name == "method" && find_method(subject, builtin.name) != &builtin
                   ? std::optional<std::size_t>()
                   : work_of(builtin, subject, arguments);
      };
      const auto small = work(operand.small), large = work(operand.large);
      if (small && large) most = std::max(most.value_or(0), *large > *small ? *large - *small : 0);
    }
    std::size_t next = 0;
    while (next < choice.size() && ++choice[next] == others.size()) choice[next++] = 0;
    if (next == choice.size()) return most;
  }
}

// Results of different types differ by a few steps.
constexpr std::size_t kFewSteps = 10 * 256;

BOOST_AUTO_TEST_CASE(every_builtin_counts_its_long_operands) {
  for (const Table& table : tables()) {
    for (const Builtin& builtin : table.builtins) {
      if (table.name == "test" && is_constant(builtin.name)) continue;
      const std::size_t count = builtin.takes_rest ? 2 : builtin.count();
      for (std::size_t place = table.name == "function" ? 1 : 0; place <= count; ++place) {
        const std::string name =
            std::string(table.name) + " " + std::string(builtin.name) + " " + std::to_string(place);
        for (const Operand& operand : operands()) {
          const auto work = counted_work(table, builtin, place, operand);
          if (!work || unread(name).find(operand.type) != std::string_view::npos) continue;
          BOOST_TEST_CONTEXT(name << " with a long " << operand.name)
          BOOST_TEST(*work + kFewSteps >= operand.size);
        }
      }
    }
  }
}

std::string render(const std::string& source, const TemplateLimits& limits) {
  return chat::Template::parse(source).render({}, limits, testing::chat_time()).text();
}

/// Checks that 2000 evaluations of an expression exceed a limit of 400,000 steps. `a` has 2^18
/// characters "a", `b` has 2^17 and ends with "b", and `k` has 2^18 characters "k".
void check_counted(const std::string& expression, const std::string& before = "") {
  const std::string source =
      "{% set a = 'a' * 262144 %}{% set b = 'a' * 131072 + 'b' %}"
      "{% set k = 'k' * 262144 %}" +
      before + "{% for i in range(2000) %}{% if " + expression + " %}{% endif %}{% endfor %}";
  BOOST_TEST_CONTEXT(expression) {
    BOOST_CHECK_EXCEPTION(render(source, {.steps = 400'000}), DataError,
                          says("rendering takes more than 400000 steps"));
  }
}

BOOST_AUTO_TEST_CASE(operators_count_their_long_operands) {
  for (const char* expression : {"b in a",
                                 "b not in a",
                                 "a.find(b)",
                                 "a.rfind(b)",
                                 "a.count(b)",
                                 "a.replace(b, '')",
                                 "a.split(b)",
                                 "a.rsplit(b)",
                                 "a.startswith(b)",
                                 "a.endswith((b, b, b))",
                                 "a.strip(b)",
                                 "a.removeprefix(b)",
                                 "a | trim(b)",
                                 "('1' * 1000) | int == ('1' * 262144) | int",
                                 "('1' * 262144) | float",
                                 "a == a[1:] ~ 'b'",
                                 "a < a[1:] ~ 'b'",
                                 "[a] == [a[:-1] ~ 'b']",
                                 "{k: 1}.get(k[1:] ~ 'x')",
                                 "{k: 1}[k[1:] ~ 'x']",
                                 "(k[1:] ~ 'x') in {k: 1}",
                                 "{k: 1, k[1:] ~ 'x': 2}",
                                 "{k: 1} == {k[1:] ~ 'x': 1}",
                                 "a[0]",
                                 "a[-1]",
                                 "a[5:9]",
                                 "a[::-70000]",
                                 "a | length",
                                 "a is lower",
                                 "[{}] | map(attribute=k) | list",
                                 "{k: 1, k[1:] ~ 'x': 2} | tojson(sort_keys=true)",
                                 "strftime_now('%%' * 262144 ~ a)"})
    check_counted(expression);
  check_counted("ns.f == ns[k]", "{% set ns = namespace(dict({k: 1}), f=2) %}");
  std::string others = "1";
  for (int i = 0; i < 20000; ++i) others += ",1";
  check_counted("[[], []] | map('map', " + others + ") | list");
}

BOOST_AUTO_TEST_CASE(names_and_arguments_are_counted) {
  const auto listed = [](const std::string& pattern, int count) {
    std::string all;
    for (int i = 0; i < count; ++i) {
      std::string one = pattern;
      one.replace(one.find('#'), 1, std::to_string(i));
      all += (i > 0 ? "," : "") + one;
    }
    return all;
  };
  const TemplateLimits limits = {.steps = 1'000'000};
  for (const std::string& source :
       {"{% macro f(" + listed("p#", 50000) + ") %}{% endmacro %}{{ f() }}",
        "{% macro f(" + listed("p#=1", 50000) + ") %}{% endmacro %}{{ f() }}",
        "{% macro f(" + listed("p#", 20000) + ") %}{% endmacro %}{{ f(" + listed("p#=1", 20000) +
            ") }}",
        "{% set x = dict(" + listed("p#=1", 50000) + ") %}",
        "{% set x = namespace(" + listed("p#=1", 50000) + ") %}"}) {
    BOOST_TEST_CONTEXT(source.substr(0, 60)) {
      BOOST_CHECK_EXCEPTION(render(source, limits), DataError, says("1000000 steps"));
    }
  }
  // Each level of a nested {% generation %} block copies its text.
  std::string open, close;
  for (int i = 0; i < 90; ++i) {
    open += "{% generation %}";
    close += "{% endgeneration %}";
  }
  BOOST_CHECK_EXCEPTION(
      render("{% set a = 'a' * 1000000 %}" + open + "{{ a }}{{ a }}" + close, limits), DataError,
      says("1000000 steps"));
}

BOOST_AUTO_TEST_CASE(names_have_a_limit) {
  const std::string name(257, 'n');
  BOOST_CHECK_EXCEPTION(chat::Template::parse("a\n{{ " + name + " }}"), FormatError,
                        says("has a name of 257 bytes; the limit is 256 (line 2, column 4)"));
  BOOST_TEST(render("{{ " + name.substr(1) + " }}", {}).empty());
}

BOOST_AUTO_TEST_CASE(searches_match_those_of_the_standard_library) {
  std::uint32_t state = 1;
  const auto random_text = [&](std::size_t size) {
    std::string text;
    for (std::size_t i = 0; i < size; ++i) {
      state = state * 1664525 + 1013904223;
      text += static_cast<char>('a' + (state >> 30) % 2);
    }
    return text;
  };
  const std::size_t most = std::numeric_limits<std::size_t>::max();
  chat::Run run({.steps = most, .bytes = most}, testing::chat_time());
  for (int i = 0; i < 3000; ++i) {
    const std::string text = random_text(static_cast<std::size_t>(i % 40)),
                      wanted = random_text(static_cast<std::size_t>(i % 7));
    BOOST_TEST_CONTEXT(wanted << " in " << text) {
      BOOST_TEST(chat::TextSearch(run, wanted).in(text) == text.find(wanted));
      BOOST_TEST(chat::TextSearch(run, wanted, chat::TextSearch::From::right).in(text) ==
                 text.rfind(wanted));
    }
  }
}

BOOST_AUTO_TEST_CASE(long_messages_need_few_steps) {
  const chat::Mapping variables = testing::chat_mapping(
      testing::ChatJson{{"text", std::string(1'000'000, 'x') + "</think> " + std::string(9, 'y')}});
  const auto parsed = chat::Template::parse(
      "{% set text = text | trim %}{% if '</think>' in text %}{{ "
      "text.split('</think>')[-1].strip() "
      "}}{% endif %}{{ text.rstrip() ~ text.replace('x', 'x', 1) | length }}");
  BOOST_TEST(parsed.render(variables, {.steps = 200'000}, testing::chat_time()).size() > 1'000'000);
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
