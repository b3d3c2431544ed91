#include "weft/models/text/jinja/parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weft/core/excerpt.h"
#include "weft/models/text/jinja/expression_parser.h"

namespace weft::chat {
namespace {

/// Jinja statements that are not supported, because no published chat format needs them or because
/// they would read files.
constexpr std::array<std::string_view, 13> kUnsupported = {
    "autoescape", "block",  "call",    "debug",     "do",    "extends", "filter",
    "from",       "import", "include", "pluralize", "trans", "with"};

class StatementParser : public ExpressionParser {
 public:
  using ExpressionParser::ExpressionParser;

  ParsedTemplate parse() {
    ParsedTemplate parsed;
    parsed.body = body({});
    check_calls();
    parsed.marks_generation = marks_generation_;
    return parsed;
  }

 private:
  using Ends = std::initializer_list<std::string_view>;

  /// Parses statements until the next tag whose name is in `ends`, and stops at that name. If
  /// `ends` is empty, parses until the end of the template.
  Body body(Ends ends) {
    const Level level(*this);
    Body statements;
    while (true) {
      const Place place = now().place;
      switch (now().kind) {
        case Kind::data: add(statements, place, Data{take().text}); break;
        case Kind::variable_begin: {
          take();
          ExpressionPtr value = tuple();
          expect(Kind::variable_end);
          add(statements, place, Print{std::move(value)});
          break;
        }
        case Kind::block_begin: {
          take();
          if (std::find(ends.begin(), ends.end(), now().text) != ends.end() &&
              now().kind == Kind::name)
            return statements;
          statement(statements, place);
          break;
        }
        default:
          if (ends.size() > 0) fail(fmt::format("ends without '{}'", *(ends.end() - 1)));
          return statements;
      }
    }
  }

  static void add(Body& statements, Place place, Statement::Node node) {
    statements.push_back(std::make_unique<const Statement>(Statement{place, std::move(node)}));
  }

  void statement(Body& statements, Place place) {
    if (now().kind != Kind::name)
      fail(fmt::format("has {} where a statement is expected", describe(now())));
    const std::string name = take().text;
    if (name == "if") {
      add(statements, place, if_statement());
    } else if (name == "for") {
      add(statements, place, for_statement());
    } else if (name == "set") {
      add(statements, place, set_statement());
    } else if (name == "macro") {
      add(statements, place, macro_statement());
    } else if (name == "generation") {
      marks_generation_ = true;
      end_tag();
      add(statements, place, Generation{closed_body("endgeneration")});
    } else if (name == "break" || name == "continue") {
      if (enclosing_.loops == 0)
        fail_template(place, fmt::format("has '{}' outside of a loop", name));
      end_tag();
      add(statements, place, name == "break" ? Statement::Node(Break()) : Continue());
    } else if (std::find(kUnsupported.begin(), kUnsupported.end(), name) != kUnsupported.end()) {
      fail_template(place, fmt::format("has the statement '{}', which is not supported", name));
    } else {
      fail_template(place, fmt::format("has an unexpected statement '{}'", excerpt(name)));
    }
  }

  void end_tag() { expect(Kind::block_end); }

  /// Parses statements up to and including the tag `end`.
  Body closed_body(std::string_view end) {
    Body statements = body({end});
    take();
    end_tag();
    return statements;
  }

  If if_statement() {
    If node;
    while (true) {
      ExpressionPtr condition = disjunction();
      end_tag();
      Body branch = body({"elif", "else", "endif"});
      node.branches.emplace_back(std::move(condition), std::move(branch));
      const std::string end = take().text;
      if (end == "elif") continue;
      end_tag();
      if (end == "else") node.otherwise = closed_body("endif");
      return node;
    }
  }

  /// Parses "a", "a, b" or "(a, b)".
  std::vector<std::string> targets() {
    const bool brackets = take_symbol("(");
    std::vector<std::string> names;
    do {
      if (!names.empty() && now().kind != Kind::name) break;
      names.push_back(target());
    } while (take_symbol(","));
    if (brackets) expect(")");
    return names;
  }
  std::string target() {
    const Place place = now().place;
    std::string name = expect_name();
    constexpr std::array<std::string_view, 7> kTaken = {"loop", "true",  "false", "none",
                                                        "True", "False", "None"};
    if (std::find(kTaken.begin(), kTaken.end(), name) != kTaken.end())
      fail_template(place, fmt::format("assigns to '{}', which is not a variable", name));
    return name;
  }

  For for_statement() {
    For node;
    node.targets = targets();
    if (!take_name("in")) fail(fmt::format("has {} where 'in' is expected", describe(now())));
    node.items = items();
    if (take_name("if")) node.condition = expression();
    if (sees_name("recursive")) fail("has a 'recursive' loop, which is not supported");
    end_tag();
    const Enclosing outer = enclosing_;
    ++enclosing_.loops;
    enclosing_.kept.push_back(&node.kept);
    node.body = body({"else", "endfor"});
    enclosing_ = outer;
    const std::string end = take().text;
    end_tag();
    if (end == "else") node.otherwise = closed_body("endfor");
    return node;
  }
  /// Parses the iterable of a loop. An "if" after the iterable belongs to the loop.
  ExpressionPtr items() {
    const Place place = now().place;
    ExpressionPtr first = disjunction();
    if (!sees(",")) return first;
    SequenceLiteral literal = {Sequence::Kind::tuple, {}};
    int depth = first->depth;
    literal.items.push_back(std::move(first));
    while (take_symbol(",")) {
      if (now().kind == Kind::block_end || sees_name("if")) break;
      literal.items.push_back(disjunction());
      depth = std::max(depth, literal.items.back()->depth);
    }
    return std::make_unique<const Expression>(Expression{place, std::move(literal), depth + 1});
  }

  Statement::Node set_statement() {
    if (now().kind == Kind::name && next().is(Kind::symbol, ".")) {
      SetBlock block;
      block.target = target();
      take();
      block.field = expect_name();
      if (!take_symbol("=")) return set_block(std::move(block));
      return SetField{std::move(block.target), std::move(block.field), last_value()};
    }
    std::vector<std::string> names = targets();
    if (take_symbol("=")) return Set{std::move(names), last_value()};
    if (names.size() > 1) fail(fmt::format("has {} where '=' is expected", describe(now())));
    SetBlock block;
    block.target = std::move(names.front());
    return set_block(std::move(block));
  }
  ExpressionPtr last_value() {
    ExpressionPtr value = tuple();
    end_tag();
    return value;
  }
  SetBlock set_block(SetBlock block) {
    while (take_symbol("|")) block.filters.push_back(filter());
    end_tag();
    block.body = closed_body("endset");
    return block;
  }

  Macro macro_statement() {
    Macro node;
    node.name = target();
    define_macro(node.name);
    const Enclosing outer = std::exchange(enclosing_, Enclosing());
    expect("(");
    while (!sees(")")) {
      std::string name = target();
      ExpressionPtr otherwise = take_symbol("=") ? expression() : nullptr;
      if (otherwise == nullptr && !node.parameters.empty() &&
          node.parameters.back().second != nullptr)
        fail(
            fmt::format("has the parameter '{}' without a default after a parameter with a default",
                        excerpt(name)));
      node.parameters.emplace_back(std::move(name), std::move(otherwise));
      if (!take_symbol(",")) break;
    }
    expect(")");
    end_tag();
    node.body = closed_body("endmacro");
    enclosing_ = outer;
    return node;
  }

  bool marks_generation_ = false;
};

}  // namespace

ParsedTemplate parse_template(std::string_view source) {
  return StatementParser(tokenize(source)).parse();
}

}  // namespace weft::chat
