#include "weft/core/dim.h"

#include <fmt/format.h>

#include <boost/test/unit_test.hpp>
#include <limits>
#include <map>
#include <string>

#include "weft/core/error.h"
#include "weft/core/random.h"
#include "weft/tests/support/messages.h"

using namespace weft;

namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();

using weft::testing::says_exactly;

struct Symbols {
  SymbolPtr make(std::string_view name) {
    SymbolPtr& s = table[std::string(name)];
    if (s == nullptr) s = std::make_shared<Symbol>(Symbol{std::string(name)});
    return s;
  }
  Dim parse(std::string_view text) {
    return Dim::parse(text, [this](std::string_view name) { return make(name); });
  }
  std::map<std::string, SymbolPtr> table;
  Dim batch{make("batch")}, seq{make("seq")}, heads{make("heads")};
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(dim, Symbols)

BOOST_AUTO_TEST_CASE(constants_fold) {
  BOOST_TEST(Dim().constant() == 0);
  BOOST_TEST((Dim(2) + 3).constant() == 5);
  BOOST_TEST((Dim(2) - 3).constant() == -1);
  BOOST_TEST((Dim(2) * 3).constant() == 6);
  BOOST_TEST((-Dim(2)).constant() == -2);
  BOOST_TEST((Dim(2) == Dim(2)).holds);
  BOOST_TEST((Dim(2) != Dim(3)));
  BOOST_TEST((seq - seq).is_constant());
  BOOST_TEST((0 * seq).constant() == 0);
  BOOST_CHECK_EXCEPTION((seq + 1).constant(), ShapeError,
                        says_exactly("dim 'seq + 1' is not a constant"));
  Dim d = 3;
  d += 1;
  d *= seq;
  d -= seq;
  BOOST_TEST(d.str() == "3*seq");
}

BOOST_AUTO_TEST_CASE(equal_polynomials_have_the_same_canonical_form) {
  BOOST_TEST(((batch + seq) * (batch - seq) == batch * batch - seq * seq).holds);
  BOOST_TEST((seq * batch * 2 + 1 == 1 + 2 * (batch * seq)).holds);
  BOOST_TEST((seq + batch).hash() == (batch + seq).hash());
  BOOST_TEST((batch * seq).str() == "batch*seq");
  BOOST_TEST((1 + 2 * batch * seq - seq).str() == "2*batch*seq - seq + 1");
  BOOST_TEST((-seq * seq - 1).str() == "-seq*seq - 1");
  const DimEquation equation = batch == seq + 1;
  BOOST_TEST(!equation);
  BOOST_TEST(equation.left.str() == "batch");
  BOOST_TEST(equation.right.str() == "seq + 1");
}

BOOST_AUTO_TEST_CASE(symbols_are_distinguished_by_identity) {
  const Dim other(std::make_shared<Symbol>(Symbol{"batch"}));
  BOOST_TEST((other != batch));
  BOOST_TEST((other - batch != Dim(0)));
  BOOST_TEST((other + batch == batch + other).holds);
  BOOST_TEST((batch.as_symbol() == make("batch")));
  BOOST_TEST((2 * batch).as_symbol() == nullptr);
  BOOST_TEST(Dim(2).as_symbol() == nullptr);
  BOOST_TEST(min(batch, seq).as_symbol() == nullptr);
  const auto all = (floor_div(seq + 1, heads) + batch * seq).symbols();
  BOOST_REQUIRE(all.size() == 3u);
  BOOST_TEST(all[0]->name == "batch");
  BOOST_TEST(all[1]->name == "heads");
  BOOST_TEST(all[2]->name == "seq");
  BOOST_CHECK_EXCEPTION(Dim{SymbolPtr()}, ArgumentError,
                        says_exactly("cannot make a Dim from a null symbol"));
}

BOOST_AUTO_TEST_CASE(overflow_is_an_error) {
  BOOST_CHECK_EXCEPTION(Dim(kMax) + 1, ShapeError,
                        says_exactly("9223372036854775807 + 1 overflows int64 in a dim"));
  BOOST_CHECK_EXCEPTION(Dim(kMin) - 1, ShapeError,
                        says_exactly("-9223372036854775808 - 1 overflows int64 in a dim"));
  BOOST_CHECK_THROW(Dim(kMax) * 2, ShapeError);
  BOOST_CHECK_THROW(-Dim(kMin), ShapeError);
  BOOST_CHECK_THROW(kMax * seq + seq, ShapeError);
  BOOST_CHECK_THROW(kMax * seq * 2, ShapeError);
  BOOST_CHECK_THROW(-(kMin * seq), ShapeError);
  BOOST_CHECK_THROW(floor_div(Dim(kMin), -1), ShapeError);
  Dim power = seq;
  for (int i = 0; i < 6; ++i) power *= power;
  BOOST_CHECK_EXCEPTION(
      power * seq, ShapeError,
      says_exactly("a dim with a product of more than 64 symbols is not supported"));
  BOOST_TEST((kMax * seq - kMax * seq == Dim(0)).holds);
}

BOOST_AUTO_TEST_CASE(polynomials_that_are_too_large_are_an_error) {
  Dim sum = 0;
  for (int i = 0; i < 100; ++i) sum += Dim(make(fmt::format("s{}", i)));
  BOOST_CHECK_EXCEPTION(sum * sum, ShapeError,
                        says_exactly("a dim has 5050 terms; more than 4096 are not supported"));
  Dim more = sum;
  for (int i = 0; i < 700; ++i) more += Dim(make(fmt::format("t{}", i)));
  BOOST_CHECK_EXCEPTION(sum * more, ShapeError,
                        says_exactly("a product of dims with 100 and 800 terms is too large"));
}

BOOST_AUTO_TEST_CASE(dims_are_evaluated_for_given_sizes) {
  Bindings b;
  BOOST_TEST(b.bind(make("batch"), 8));
  BOOST_TEST(b.bind(make("batch"), 8));
  BOOST_TEST(!b.bind(make("batch"), 9));
  BOOST_TEST(b.bind(make("seq"), 5));
  BOOST_TEST(b.str() == "batch=8, seq=5");
  BOOST_TEST(b.entries().size() == 2u);
  BOOST_TEST((2 * batch * seq + seq * seq - 1).evaluate(b) == 104);
  BOOST_TEST(floor_div(seq, 2).evaluate(b) == 2);
  BOOST_TEST(floor_div(-seq, 2).evaluate(b) == -3);
  BOOST_TEST(floor_div(-seq, batch).evaluate(b) == -1);
  BOOST_TEST(min(batch, seq).evaluate(b) == 5);
  BOOST_TEST(max(batch, seq).evaluate(b) == 8);
  BOOST_CHECK_EXCEPTION(
      (batch + heads).evaluate(b), ShapeError,
      says_exactly("dim 'batch + heads' has no value: the symbol 'heads' is not bound"));
  b.bind(make("heads"), 0);
  BOOST_CHECK_EXCEPTION(
      floor_div(batch, heads).evaluate(b), ShapeError,
      says_exactly(
          "division by zero: heads is 0 in dim 'floor_div(batch, heads)' for batch=8, seq=5, "
          "heads=0"));
  Bindings large;
  large.bind(make("seq"), kMax);
  large.bind(make("batch"), 0);
  BOOST_CHECK_EXCEPTION((2 * seq).evaluate(large), ShapeError,
                        says_exactly("dim '2*seq' overflows int64 for seq=9223372036854775807, "
                                     "batch=0"));
  BOOST_TEST((seq * seq * batch).evaluate(large) == 0);
  BOOST_TEST((batch * seq * seq).evaluate(large) == 0);
  BOOST_TEST((seq + 1 - 1).evaluate(large) == kMax);
  BOOST_CHECK_THROW((seq + 1).evaluate(large), ShapeError);
  BOOST_CHECK_EXCEPTION(b.bind(nullptr, 1), ArgumentError,
                        says_exactly("cannot bind a null symbol"));
}

BOOST_AUTO_TEST_CASE(symbols_can_be_substituted) {
  auto map = [this](const SymbolPtr& s) -> std::optional<Dim> {
    if (s == make("seq")) return 2 * heads;
    return std::nullopt;
  };
  BOOST_TEST((batch * seq + 1).substitute(map).str() == "2*batch*heads + 1");
  BOOST_TEST(floor_div(seq, 2).substitute(map).str() == "heads");
  BOOST_TEST(min(seq, heads).substitute(map).str() == "heads");
  BOOST_TEST(max(seq, batch).substitute(map).str() == "max(batch, 2*heads)");
  BOOST_TEST(Dim(3).substitute(map).str() == "3");
}

BOOST_AUTO_TEST_CASE(floor_division_simplifies) {
  BOOST_TEST(floor_div(7, 2).str() == "3");
  BOOST_TEST(floor_div(-7, 2).str() == "-4");
  BOOST_TEST(floor_div(7, -2).str() == "-4");
  BOOST_TEST(floor_div(-7, -2).str() == "3");
  BOOST_TEST(floor_div(seq, 1).str() == "seq");
  BOOST_TEST(floor_div(seq, -1).str() == "-seq");
  BOOST_TEST(floor_div(4 * seq + 6, 2).str() == "2*seq + 3");
  BOOST_TEST(floor_div(2 * seq + 1, 2).str() == "seq");
  BOOST_TEST(floor_div(seq + 3, 2).str() == "floor_div(seq + 1, 2) + 1");
  BOOST_TEST(floor_div(6 * seq + 3, 4).str() == "seq + floor_div(seq + 1, 2)");
  BOOST_TEST(floor_div(floor_div(seq, 2), 3).str() == "floor_div(seq, 6)");
  BOOST_TEST(floor_div(floor_div(seq, 2) + 1, 3).str() == "floor_div(seq + 2, 6)");
  BOOST_TEST(floor_div(batch * seq * heads, seq).str() == "batch*heads");
  BOOST_TEST(floor_div(batch * seq + 1, seq).str() == "batch + floor_div(1, seq)");
  BOOST_TEST((floor_div(batch, -seq) == floor_div(-batch, seq)).holds);
  BOOST_TEST((floor_div(0, seq)).str() == "0");
  BOOST_CHECK_EXCEPTION(floor_div(seq, 0), ShapeError,
                        says_exactly("division by zero: floor_div(seq, 0)"));
  BOOST_TEST(floor_div(kMin * seq, 3).is_constant() == false);
}

BOOST_AUTO_TEST_CASE(exact_division_recovers_the_quotient) {
  auto check = [](const Dim& quotient, const Dim& divisor) {
    const auto q = Dim::try_exact_div(quotient * divisor, divisor);
    BOOST_REQUIRE(q.has_value());
    BOOST_TEST((*q == quotient).holds);
  };
  check(2 * batch + 3 * seq - 1, batch - seq + 7);
  check(batch * batch + batch * seq + seq * seq, batch - seq);
  check(floor_div(seq, 2) + heads, min(batch, seq) * 3);
  check(batch, -1);
  check(0, seq);
  BOOST_TEST(!Dim::try_exact_div(seq, 2));
  BOOST_TEST(!Dim::try_exact_div(seq, 0));
  BOOST_TEST(!Dim::try_exact_div(7, seq));
  BOOST_TEST(!Dim::try_exact_div(seq, batch));
  BOOST_TEST(!Dim::try_exact_div(batch * seq + 1, seq));
  BOOST_TEST(!Dim::try_exact_div(kMin, -1));
  BOOST_TEST(exact_div(6 * seq, 3).str() == "2*seq");
  BOOST_CHECK_EXCEPTION(
      exact_div(batch + 1, seq), ShapeError,
      says_exactly("cannot prove that batch + 1 is divisible by seq without remainder"));
}

BOOST_AUTO_TEST_CASE(the_order_of_dims_is_proven_if_possible) {
  BOOST_TEST(Dim::provably_le(1, 2));
  BOOST_TEST(!Dim::provably_le(2, 1));
  BOOST_TEST(Dim::provably_le(0, batch * seq));
  BOOST_TEST(!Dim::provably_le(1, seq));
  BOOST_TEST(Dim::provably_le(seq, seq + batch));
  BOOST_TEST(!Dim::provably_le(seq, batch));
  BOOST_TEST(Dim::provably_le(0, (seq - 1) * (seq - 1) + 2 * seq));
  BOOST_TEST(Dim::provably_le(min(seq, batch), seq));
  BOOST_TEST(Dim::provably_le(seq, max(seq, batch)));
  BOOST_TEST(Dim::provably_le(min(seq, batch), max(seq, batch)));
  BOOST_TEST(Dim::provably_le(max(seq, batch), seq + batch));
  BOOST_TEST(!Dim::provably_le(max(seq, batch), seq));
  BOOST_TEST(!Dim::provably_le(seq, min(seq, batch)));
  BOOST_TEST(Dim::provably_le(heads * min(seq, batch), heads * seq));
  BOOST_TEST(Dim::provably_le(floor_div(seq, 2), seq));
  BOOST_TEST(Dim::provably_le(2 * floor_div(seq, 2), seq));
  BOOST_TEST(Dim::provably_le(seq, 2 * floor_div(seq, 2) + 1));
  BOOST_TEST(!Dim::provably_le(seq, 2 * floor_div(seq, 2)));
  BOOST_TEST(Dim::provably_le(floor_div(seq, heads), seq));
  BOOST_TEST(!Dim::provably_le(0, floor_div(seq - 1, 2)));
  BOOST_TEST(!Dim::provably_le(kMax * seq, kMin * seq));
}

BOOST_AUTO_TEST_CASE(min_and_max_simplify) {
  BOOST_TEST(min(2, 3).str() == "2");
  BOOST_TEST(max(2, 3).str() == "3");
  BOOST_TEST(min(seq, seq).str() == "seq");
  BOOST_TEST(min(seq, seq + 1).str() == "seq");
  BOOST_TEST(max(seq, seq + batch).str() == "batch + seq");
  BOOST_TEST(max(seq, 0).str() == "seq");
  BOOST_TEST(min(seq, 0).str() == "0");
  BOOST_TEST(max(seq, 1).str() == "max(seq, 1)");
  BOOST_TEST((min(batch, seq) == min(seq, batch)).holds);
  BOOST_TEST((min(min(batch, seq), heads) == min(batch, min(heads, seq))).holds);
  BOOST_TEST(min(min(batch, seq), seq).str() == "min(batch, seq)");
  BOOST_TEST((min(batch, seq) != max(batch, seq)));
}

BOOST_AUTO_TEST_CASE(dims_are_parsed_and_printed) {
  BOOST_TEST(parse(" ( batch+1 ) * (seq - 1) ").str() == "batch*seq - batch + seq - 1");
  BOOST_TEST(parse("--3").str() == "3");
  BOOST_TEST(parse("-(seq)").str() == "-seq");
  BOOST_TEST(parse("2 - -seq").str() == "seq + 2");
  BOOST_TEST(parse("min(heads, seq, batch)").str() == "min(batch, heads, seq)");
  BOOST_TEST(parse("min").str() == "min");  // a symbol with the name min
  BOOST_TEST(parse("-9223372036854775808").constant() == kMin);
  BOOST_TEST(parse("seq - 9223372036854775808*batch").str() == "-9223372036854775808*batch + seq");
}

BOOST_AUTO_TEST_CASE(only_symbol_names_that_can_be_parsed_are_accepted) {
  for (const char* name : {"n", "_n1", "block.0/rows", "größe", "min"})
    BOOST_TEST(Dim::is_symbol_name(name), name);
  for (const char* name : {"", "my dim", "1n", "a//b", "2*n", "a-b", "n,m", "a(b", "/a", ".a"})
    BOOST_TEST(!Dim::is_symbol_name(name), name);
}

BOOST_AUTO_TEST_CASE(parse_errors_name_the_problem) {
  auto fails = [this](const std::string& text, const std::string& rest) {
    BOOST_CHECK_EXCEPTION(parse(text), FormatError, says_exactly("dim \"" + text + "\" " + rest));
  };
  fails("", "at position 0: expected a number, a name or \"(\", found the end");
  fails("seq +", "at position 5: expected a number, a name or \"(\", found the end");
  fails("seq seq", "at position 4: expected an operator or the end, found \"s\"");
  fails("(seq", "at position 4: expected \")\", found the end");
  fails("seq)", "at position 3: expected an operator or the end, found \")\"");
  fails("sqrt(seq)", "at position 0: expected floor_div, min or max before \"(\", found \"s\"");
  fails("min(seq)", "at position 7: expected \",\", found \")\"");
  fails("floor_div(seq, 2, 3)", "at position 16: expected \")\", found \",\"");
  fails("9223372036854775808", "at position 0: expected a 64-bit number, found \"9\"");
  fails("1 + floor_div(seq, 0)", "near position 20: division by zero: floor_div(seq, 0)");
  BOOST_CHECK_EXCEPTION(
      Dim::parse("1 + x", [](std::string_view) { return SymbolPtr(); }), FormatError,
      says_exactly(
          "dim \"1 + x\" at position 4: expected the name of a known symbol, found \"x\""));
  BOOST_CHECK_THROW(parse(std::string(100000, '(')), FormatError);
  BOOST_CHECK_THROW(parse(std::string("a\0b", 3)), FormatError);
}

// Random expressions: parsing the text of a Dim gives the same Dim, and simplification does not
// change its value.
BOOST_AUTO_TEST_CASE(random_expressions_round_trip_and_keep_their_value) {
  const SymbolPtr names[] = {make("batch"), make("seq"), make("heads")};
  const RandomStream random{2024, 1, 0};
  std::uint64_t draw = 0;
  auto below = [&](std::uint32_t bound) { return random.word(draw++) % bound; };
  struct Pair {
    Dim dim;
    std::int64_t value;
  };
  int divided = 0;
  for (int round = 0; round < 3000; ++round) {
    Bindings b;
    std::int64_t values[3];
    for (int i = 0; i < 3; ++i) b.bind(names[i], values[i] = below(12));
    std::vector<Pair> pool;
    for (int i = 0; i < 3; ++i) pool.push_back({Dim(names[i]), values[i]});
    for (int i = 0; i < 3; ++i) {
      const std::int64_t c = static_cast<std::int64_t>(below(13)) - 6;
      pool.push_back({Dim(c), c});
    }
    for (int step = 0; step < 8; ++step) {
      const Pair x = pool[below(static_cast<std::uint32_t>(pool.size()))];
      const Pair y = pool[below(static_cast<std::uint32_t>(pool.size()))];
      if (std::abs(x.value) > 1000000 || std::abs(y.value) > 1000000) continue;
      switch (below(6)) {
        case 0: pool.push_back({x.dim + y.dim, x.value + y.value}); break;
        case 1: pool.push_back({x.dim - y.dim, x.value - y.value}); break;
        case 2: pool.push_back({x.dim * y.dim, x.value * y.value}); break;
        case 3: pool.push_back({min(x.dim, y.dim), std::min(x.value, y.value)}); break;
        case 4: pool.push_back({max(x.dim, y.dim), std::max(x.value, y.value)}); break;
        default:
          if (y.value != 0) {
            const std::int64_t q = x.value / y.value;
            const bool down = x.value % y.value != 0 && (x.value < 0) != (y.value < 0);
            pool.push_back({floor_div(x.dim, y.dim), down ? q - 1 : q});
            ++divided;
          }
      }
    }
    for (const Pair& p : pool) {
      const std::string text = p.dim.str();
      BOOST_REQUIRE_MESSAGE((parse(text) == p.dim).holds, text << " read as " << parse(text).str());
      BOOST_REQUIRE_EQUAL(parse(text).hash(), p.dim.hash());
      BOOST_REQUIRE_MESSAGE(p.dim.evaluate(b) == p.value, text << " with " << b.str() << " is "
                                                               << p.dim.evaluate(b) << ", not "
                                                               << p.value);
      for (const Pair& o : pool) {
        if (Dim::provably_le(p.dim, o.dim)) {
          BOOST_REQUIRE_MESSAGE(p.value <= o.value, text << " <= " << o.dim.str() << " is wrong");
        }
      }
    }
  }
  BOOST_TEST(divided > 1000);
}

BOOST_AUTO_TEST_SUITE_END()
