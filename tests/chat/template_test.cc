// Templates render as in Jinja (tests/fixtures/chat), and errors name unsupported features.
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "fixtures.h"
#include "weft/core/error.h"
#include "weft/models/text/jinja/template.h"
#include "weft/tests/support/messages.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(chat_template)
namespace {

using chat::Template;
using testing::says;
using testing::says_exactly;

std::string render(const std::string& source, const chat::Mapping& variables = {},
                   const TemplateLimits& limits = {}) {
  return Template::parse(source).render(variables, limits, testing::chat_time()).text();
}

BOOST_AUTO_TEST_CASE(every_construct_matches_jinja) {
  const chat::Mapping variables =
      testing::chat_mapping(testing::ChatJson::parse(testing::chat_fixture("variables.json")));
  const auto cases = testing::chat_fixture_lines("cases.jsonl");
  BOOST_TEST(cases.size() > 300);
  for (const auto& line : cases) {
    const std::string source = line["template"];
    BOOST_TEST_CONTEXT(source) {
      if (line.contains("text")) {
        try {
          BOOST_TEST(render(source, variables) == line["text"].get<std::string>());
        } catch (const Error& e) {
          BOOST_ERROR(e.what());
        }
      } else if (line.contains("raised")) {
        BOOST_CHECK_EXCEPTION(render(source, variables), DataError,
                              says(line["raised"].get<std::string>()));
      } else if (line["error"] == "TemplateSyntaxError" ||
                 line["error"] == "TemplateAssertionError") {
        BOOST_CHECK_THROW(Template::parse(source), FormatError);
      } else {
        BOOST_CHECK_THROW(render(source, variables), Error);
      }
    }
  }
}

void check_rejected(const std::string& source, const std::string& why) {
  BOOST_TEST_CONTEXT(source) {
    BOOST_CHECK_EXCEPTION(Template::parse(source), FormatError, says_exactly(why));
  }
}

BOOST_AUTO_TEST_CASE(unsupported_features_are_rejected_with_line_and_column) {
  check_rejected(
      "a\n {% include 'x' %}",
      "the chat template has the statement 'include', which is not supported (line 2, column 2)");
  check_rejected(
      "{% raw %}{{ x }}{% endraw %}",
      "the chat template has the statement 'raw', which is not supported (line 1, column 1)");
  check_rejected("{% endfor %}",
                 "the chat template has an unexpected statement 'endfor' (line 1, column 1)");
  check_rejected(
      "{{ x | wordwrap }}",
      "the chat template uses the filter 'wordwrap', which is not supported (line 1, column 8)");
  check_rejected(
      "{{ x is\n callableish }}",
      "the chat template uses the test 'callableish', which is not supported (line 2, column 2)");
  check_rejected(
      "{{ x.format(1) }}",
      "the chat template calls the method 'format', which is not supported (line 1, column 6)");
  check_rejected(
      "{{ lipsum() }}",
      "the chat template calls 'lipsum', which is neither a chat template function nor a "
      "macro (line 1, column 4)");
  check_rejected(
      "{{ 2 ** 3 }}",
      "the chat template has the operator '**', which is not supported (line 1, column 6)");
  check_rejected(
      "{{ f(*x) }}",
      "the chat template has '*' in an argument list, which is not supported (line 1, column 6)");
  check_rejected(
      "{% for x in y recursive %}{% endfor %}",
      "the chat template has a 'recursive' loop, which is not supported (line 1, column 15)");
  check_rejected(
      "{% for x in y %}{{ loop }}{% endfor %}",
      "the chat template uses 'loop' as a value; only its fields, such as loop.index, are "
      "supported (line 1, column 20)");
  check_rejected(
      "{% for x in y %}{{ loop.index9 }}{% endfor %}",
      "the chat template uses 'loop.index9', which is not supported (line 1, column 25)");
  check_rejected("{{ loop.index }}",
                 "the chat template uses 'loop' outside of a loop (line 1, column 4)");
  check_rejected("{% macro f() %}{{ loop.index }}{% endmacro %}",
                 "the chat template uses 'loop' outside of a loop (line 1, column 19)");
  check_rejected("{% for x in y %}{% macro f(a=loop.index) %}{% endmacro %}{% endfor %}",
                 "the chat template uses 'loop' outside of a loop (line 1, column 30)");
  check_rejected(
      "{% macro f() %}{{ caller() }}{% endmacro %}",
      "the chat template uses the macro variable 'caller', which is not supported (line 1, "
      "column 19)");
  check_rejected("{% break %}",
                 "the chat template has 'break' outside of a loop (line 1, column 1)");
  check_rejected(
      "{{ '\\N{DASH}' }}",
      "the chat template has the escape '\\N' (a named character), which is not supported (line 1, "
      "column 5)");
  check_rejected("{{ 0x10 }}",
                 "the chat template has '0x', which is not a decimal number (line 1, column 4)");
  check_rejected(
      "{{ x | replace('a') }}",
      "the chat template has an invalid call: 'replace' lacks the argument 'new' (line 1, "
      "column 8)");
  check_rejected(
      "{{ x | upper(1) }}",
      "the chat template has an invalid call: 'upper' takes at most 0 arguments, not 1 (line "
      "1, column 8)");
  check_rejected(
      "{{ x | tojson(nice=1) }}",
      "the chat template has an invalid call: 'tojson' has no parameter 'nice' (line 1, column 8)");
  check_rejected("{% if x %}\n", "the chat template ends without 'endif' (line 1, column 11)");
  check_rejected("{{ x", "the chat template has an unterminated tag (line 1, column 1)");
  check_rejected("\n{{ 'x", "the chat template has an unterminated string (line 2, column 4)");
  check_rejected(
      "{{ 99999999999999999999 }}",
      "the chat template has the number '99999999999999999999', which exceeds 64 bits (line 1, "
      "column 4)");
  check_rejected("\xFF", "the chat template is not UTF-8 at byte 0");
  check_rejected(std::string((1 << 20) + 1, ' '),
                 "the chat template has 1048577 bytes; the limit is 1048576");
}

void fails(const std::string& source, const std::string& why, const TemplateLimits& limits = {}) {
  BOOST_TEST_CONTEXT(source) {
    BOOST_CHECK_EXCEPTION(render(source, {}, limits), DataError, says_exactly(why));
  }
}

BOOST_AUTO_TEST_CASE(rendering_errors_have_line_and_column) {
  fails("{{ raise_exception('Roles must alternate') }}",
        "Roles must alternate (chat template, line 1, column 4)");
  fails("{{ x.y }}", "'x' is undefined (chat template, line 1, column 5)");
  fails("\n{{ 'a' + 1 }}",
        "'+' cannot be applied to a string and an integer (chat template, line 2, column 4)");
  fails("{{ 9223372036854775807 + 1 }}",
        "the result of '+' exceeds 64 bits (chat template, line 1, column 4)");
  fails("{{ range }}", "a function cannot be printed (chat template, line 1, column 1)");
  fails("{{ [1] | map('string') }}",
        "an iterator (use '|list' to make it a list) cannot be printed (chat template, line 1, "
        "column 1)");
  fails("{% macro f() %}{% endmacro %}{{ f }}",
        "'f' is a macro and must be called (chat template, line 1, column 33)");
  fails("{{ 'a'.upper }}",
        "'upper' is a method of a string and must be called (chat template, line 1, column 7)");
}

BOOST_AUTO_TEST_CASE(rendering_steps_and_output_are_bounded) {
  const std::string loops =
      "{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}";
  BOOST_CHECK_EXCEPTION(render(loops), DataError, says("rendering takes more than 10000000 steps"));
  fails("{% for a in range(1000) %}x{% endfor %}",
        "rendering takes more than 100 steps (chat template, line 1, column 13)", {.steps = 100});
  fails("{% for a in range(9) %}xxxxxxxxxxxx{% endfor %}",
        "rendering produces more than 100 bytes of text (chat template, line 1, column 24)",
        {.bytes = 100});
  const std::string doubled =
      "{% set ns = namespace(s='x') %}{% for i in range(90) %}"
      "{% set ns.s = ns.s + ns.s %}{% endfor %}";
  BOOST_CHECK_EXCEPTION(render(doubled), DataError, says("bytes of text"));
  BOOST_CHECK_EXCEPTION(render("{{ 'x' * 9223372036854775807 }}"), DataError, says("rendering"));
  BOOST_CHECK_EXCEPTION(render("{{ [1] * 9223372036854775807 }}"), DataError, says("steps"));
  // Each nested list contains the previous list twice, so there are 2^40 items to compare or print.
  const std::string shared =
      "{% set ns = namespace(s=[1], t=[1]) %}{% for i in range(40) %}"
      "{% set ns.s = [ns.s, ns.s] %}{% set ns.t = [ns.t, ns.t] %}{% endfor %}";
  BOOST_CHECK_EXCEPTION(render(shared + "{{ ns.s == ns.t }}"), DataError, says("steps"));
  BOOST_CHECK_EXCEPTION(render(shared + "{{ ns.s }}"), DataError, says("steps"));
  BOOST_CHECK_EXCEPTION(render(shared + "{{ ns.s | tojson }}"), DataError, says("steps"));
}

BOOST_AUTO_TEST_CASE(nesting_is_bounded) {
  const auto repeated = [](const std::string& text, int count) {
    std::string all;
    for (int i = 0; i < count; ++i) all += text;
    return all;
  };
  for (const auto& [open, close] : std::vector<std::pair<std::string, std::string>>{
           {"(", ")"}, {"[", "]"}, {"-", ""}, {"not ", ""}, {"x[", "]"}, {"{'a':", "}"}}) {
    const std::string source = "{{ " + repeated(open, 10000) + "1" + repeated(close, 10000) + " }}";
    BOOST_CHECK_EXCEPTION(Template::parse(source), FormatError,
                          says("is nested more than 100 levels deep"));
  }
  BOOST_CHECK_EXCEPTION(Template::parse(repeated("{% if 1 %}", 10000)), FormatError,
                        says("is nested more than 100 levels deep"));
  for (const char* link : {"+1", ".a", "|upper", "[0]", " and 1", " if 1 else 1"}) {
    const std::string source = "{{ x" + repeated(link, 10000) + " }}";
    BOOST_CHECK_EXCEPTION(Template::parse(source), FormatError, says("more than"));
  }
  // Chains with many operands are accepted because they are not deep trees.
  BOOST_TEST(render("{{ 1" + repeated("~1", 5000) + " }}").size() == 5001);
  fails("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
        "calls are nested more than 500 levels deep (chat template, line 1, column 19)");
  fails("{% set ns = namespace(s=[]) %}{% for i in range(99) %}{% set ns.s = [ns.s] %}{% endfor %}",
        "values are nested more than 50 levels deep (chat template, line 1, column 69)");
  // A namespace may contain itself.
  BOOST_TEST(render("{% set ns = namespace() %}{% set ns.s = ns %}{{ ns.s.s.s == ns }}") == "True");
}

BOOST_AUTO_TEST_CASE(rendered_texts_keep_their_origins) {
  chat::Mapping variables;
  const Origin origin = {Writer::contents, 3};
  variables.set(std::make_shared<const chat::TracedText>("m"),
                chat::text_value("  Ab\u00df\xCC\x81,cd  ", origin));
  const auto runs = [&](const std::string& source) {
    const chat::TracedText text =
        Template::parse(source).render(variables, {}, testing::chat_time());
    std::string shown;
    std::size_t begin = 0;
    for (const TextRun& run : text.runs()) {
      const std::string part = text.text().substr(begin, run.end - begin);
      shown += run.origin == origin ? "<" + part + ">" : part;
      begin = run.end;
    }
    BOOST_TEST(begin == text.size());
    return shown;
  };
  BOOST_TEST(runs("a{{ m }}b") == "a<  Ab\u00df\xCC\x81,cd  >b");
  BOOST_TEST(runs("{{ 'a' + m | trim + 'b' }}") == "a<Ab\u00df\xCC\x81,cd>b");
  BOOST_TEST(runs("{{ (m | trim).split(',')[1] ~ '!' }}") == "<cd>!");
  BOOST_TEST(runs("{{ ('(' ~ m[2:4] ~ ')') | upper }}") == "(<AB>)");
  BOOST_TEST(runs("{{ ('(' ~ m[2:5] ~ ')') | upper }}") == "(<ABSS>)");
  BOOST_TEST(runs("{{ ('(' ~ m[2:4] ~ ')')[::-1] }}") == ")<bA>(");
  BOOST_TEST(runs("{{ m.replace(',', '; ').strip() }}") == "<Ab\u00df\xCC\x81>; <cd>");
  BOOST_TEST(runs("{{ '-x-'.replace('x', m[2:4]) }}") == "-<Ab>-");
  BOOST_TEST(runs("{{ [m[2:4], 'x'] | join(m[7:8]) }}") == "<Abc>x");
  BOOST_TEST(runs("{{ m[2:4] | tojson }}{{ [m[2:4]] }}") == "\"<Ab>\"['<Ab>']");
  BOOST_TEST(runs("{% set t %}({{ m[2:4] }}){% endset %}{{ t * 2 }}") == "(<Ab>)(<Ab>)");
  BOOST_TEST(runs("{% macro f(a) %}({{ a }}){% endmacro %}{{ f(m[2:4]) }}") == "(<Ab>)");
  BOOST_TEST(runs("{% for c in m[2:4] %}{{ c }}-{% endfor %}") == "<A>-<b>-");
  BOOST_TEST(runs("{{ ('a\\n' + m[2:4]) | indent(2) }}") == "a\n  <Ab>");
  BOOST_TEST(runs("{% if m %}yes{% endif %}{{ m | length }}") == "yes11");
}

BOOST_AUTO_TEST_CASE(generation_marks_are_kept_through_blocks) {
  const Template parsed = Template::parse(
      "{% macro f() %}x{% generation %}y{% endgeneration %}{% endmacro %}{{ f() ~ 'z' }}");
  BOOST_TEST(parsed.marks_generation());
  BOOST_TEST(!Template::parse("x").marks_generation());
  const auto runs = parsed.render({}, {}, testing::chat_time()).runs();
  BOOST_TEST_REQUIRE(runs.size() == 3U);
  BOOST_TEST(!runs[0].origin.generated);
  BOOST_TEST(runs[1].origin.generated);
  BOOST_TEST(runs[1].end == 2U);
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
