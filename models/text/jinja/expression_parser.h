// Parses the expressions of a template. Internal: the base class of the statement parser.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/models/text/jinja/ast.h"
#include "weft/models/text/jinja/lexer.h"

namespace weft::chat {

class ExpressionParser {
 public:
  explicit ExpressionParser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

 protected:
  using Kind = Token::Kind;

  const Token& now() const { return tokens_[at_]; }
  const Token& next(std::size_t more = 1) const;
  const Token& take();
  bool sees_name(std::string_view name) const { return now().is(Kind::name, name); }
  bool sees(std::string_view symbol) const { return now().is(Kind::symbol, symbol); }
  bool take_name(std::string_view name);
  bool take_symbol(std::string_view symbol);
  void expect(std::string_view symbol);
  void expect(Kind kind);
  std::string expect_name();
  [[noreturn]] void fail(std::string_view what) const;
  [[noreturn]] void fail_unexpected() const;

  /// Parses an expression, or a tuple "a, b, c" if there is a comma.
  ExpressionPtr tuple();
  ExpressionPtr expression();
  /// Parses an expression without an inline "if", because the "if" belongs to the enclosing
  /// construct.
  ExpressionPtr disjunction();
  Arguments arguments();
  /// Parses one filter "name(...)" after "|".
  BuiltinCall filter();

  /// Declares a macro so that it may be called.
  void define_macro(const std::string& name) { macros_.insert(name); }
  /// Throws FormatError for the first call of a name that is neither a function nor a macro.
  void check_calls() const;

  /// The loops that enclose the current position within the current macro.
  struct Enclosing {
    std::size_t loops = 0;
    /// The number of loop.changed() calls in each loop.
    std::vector<std::size_t*> kept;
  };
  Enclosing enclosing_;

  /// Counts one level of nested expressions or statements. Throws FormatError if the limit is
  /// exceeded.
  class Level {
   public:
    explicit Level(ExpressionParser& parser);
    ~Level() { --parser_.level_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    ExpressionParser& parser_;
  };

 private:
  ExpressionPtr conjunction();
  ExpressionPtr negation();
  ExpressionPtr comparison();
  ExpressionPtr sum();
  ExpressionPtr concatenation();
  ExpressionPtr product();
  ExpressionPtr unary(bool with_filters);
  ExpressionPtr primary();
  ExpressionPtr postfix(ExpressionPtr object);
  ExpressionPtr filters(ExpressionPtr object);
  ExpressionPtr test(ExpressionPtr subject);
  ExpressionPtr attribute(ExpressionPtr object);
  ExpressionPtr subscript(ExpressionPtr object);
  ExpressionPtr call(ExpressionPtr object);
  ExpressionPtr loop_attribute(const Expression& loop);
  ExpressionPtr list_literal();
  ExpressionPtr mapping_literal();

  ExpressionPtr make(Place place, Expression::Node node, int depth_below) const;
  void check_fit(const Builtin& builtin, const Arguments& arguments, Place place) const;

  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  int level_ = 0;
  std::set<std::string> macros_;
  std::vector<std::pair<std::string, Place>> called_;
};

}  // namespace weft::chat
