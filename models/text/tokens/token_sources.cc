#include "weft/models/text/tokens/token_sources.h"

#include <fmt/format.h>

#include <memory>

#include "weft/core/error.h"
#include "weft/models/fields/numbers.h"
#include "weft/models/text/tokens/training_part.h"

namespace weft {

SourceName parse_source(const std::string& text) {
  const std::size_t equals = text.rfind('=');
  if (equals == std::string::npos || is_token_set(text) || !is_token_set(text.substr(0, equals)))
    return {text};
  constexpr RealRange kPositive{0, 1e9, true};
  const std::string path = text.substr(0, equals);
  return {path, parse_real("the weight of " + path, text.substr(equals + 1), kPositive)};
}

bool names_token_set(const std::string& text) {
  const std::size_t equals = text.rfind('=');
  return is_token_set(text) ||
         (equals != std::string::npos && is_token_set(text.substr(0, equals)));
}

std::vector<TokenSource> open_token_sources(std::span<const std::string> names) {
  std::vector<TokenSource> sources;
  std::optional<bool> weighted;
  for (const std::string& name : names) {
    const SourceName source = parse_source(name);
    if (weighted.value_or(source.weight.has_value()) != source.weight.has_value()) {
      throw ArgumentError(
          fmt::format("{} has {} weight, but {} has {}: set weights for all sources (for example, "
                      "corpus=0.7) or for none",
                      names.front(), *weighted ? "a" : "no", name, *weighted ? "none" : "one"));
    }
    weighted = source.weight.has_value();
    TokenSet set = TokenSet::open(source.path);
    if (!sources.empty()) require_tokenizer(set, sources.front().set.tokenizer(), names.front());
    const double weight = source.weight.value_or(static_cast<double>(set.tokens()));
    sources.push_back({std::move(set), weight});
  }
  return sources;
}

TokenSplit split_tokens(const TokenSet& set, double validation_fraction) {
  const std::int64_t bytes = training_part(set.bytes(), validation_fraction);
  const TokenPlace place = set.last_place(bytes);
  if (place.token == 0) {
    throw DataError(
        fmt::format("{} has {} documents, and the first document exceeds the training part: "
                    "nothing can be held out "
                    "(reduce the validation fraction, or use shorter documents)",
                    set.path(), set.documents()));
  }
  const auto ids = std::make_shared<const TokensInFiles>(set);
  return {{ids, 0, place.token, set.path()},
          {ids, place.token, set.tokens() - place.token, set.path()},
          set.bytes() - place.byte};
}

}  // namespace weft
