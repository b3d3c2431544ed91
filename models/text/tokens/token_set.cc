#include "weft/models/text/tokens/token_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "weft/core/error.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFirstEnding = "-00000.tok";

/// Returns "corpus" for "corpus-00000.tok" and for "corpus" itself. Returns an empty string for the
/// name of any other file.
std::string prefix_of(const std::string& path) {
  std::error_code error;
  if (path.ends_with(kFirstEnding)) return path.substr(0, path.size() - kFirstEnding.size());
  return fs::exists(path, error) ? "" : path;
}

/// Returns the index of the first element of `ends` that comes after `wanted` according to `less`.
template <class Ends, class Less>
std::size_t part_of(const Ends& ends, std::int64_t wanted, Less&& less) {
  return static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), wanted, less) -
                                  ends.begin());
}

}  // namespace

std::string token_file_name(const std::string& prefix, std::int64_t number) {
  return fmt::format("{}-{:05}.tok", prefix, number);
}

bool is_token_set(const std::string& path) {
  std::error_code error;
  return is_token_file(path) ||
         (!fs::exists(path, error) && is_token_file(token_file_name(path, 0)));
}

TokenSet TokenSet::open(const std::string& path) {
  TokenSet set;
  set.path_ = path;
  const std::string prefix = prefix_of(path);
  TokenPlace end;
  std::int64_t documents = 0;
  std::uint64_t before = 0;
  for (std::int64_t number = 0; number == 0 || !set.files_.back()->header().last(); ++number) {
    const std::string name = number > 0 ? token_file_name(prefix, number)
                                        : (prefix == path ? token_file_name(path, 0) : path);
    if (number > 0) {
      const std::string& last = set.files_.back()->path();
      if (prefix.empty()) {
        throw FormatError(fmt::format(
            "\"{}\" is one of several files, but its name does not end in {}: the other files "
            "cannot be located",
            last, kFirstEnding));
      }
      std::error_code error;
      if (!fs::exists(name, error)) {
        throw FormatError(fmt::format(
            "\"{}\" is missing: \"{}\" is not the last file of its set (was writing interrupted?)",
            name, last));
      }
    }
    const auto file = std::make_shared<const TokenFile>(name);
    const TokenFileHeader& h = file->header();
    if (h.number != static_cast<std::uint64_t>(number)) {
      throw FormatError(
          fmt::format("\"{}\" at byte {}: this is file {} of its set, not file {}{}", name,
                      offsetof(TokenFileHeader, number), h.number, number,
                      number == 0 ? ": pass the first file, or the common prefix" : ""));
    }
    if (h.before != before) {
      throw FormatError(
          fmt::format("\"{}\" at byte {}: this file does not follow \"{}\", but another file", name,
                      offsetof(TokenFileHeader, before), set.files_.back()->path()));
    }
    if (number > 0 && (h.digest != set.digest() || h.end_id != set.end_id())) {
      throw FormatError(
          fmt::format("\"{}\" at byte {}: the tokenizer differs from the tokenizer in \"{}\"", name,
                      offsetof(TokenFileHeader, digest), set.files_.front()->path()));
    }
    before = h.fingerprint();
    end.token += file->tokens();  // cannot overflow: every id takes space in a file
    if (__builtin_add_overflow(end.byte, file->bytes(), &end.byte)) {
      throw FormatError(
          fmt::format("\"{}\" at byte {}: the total text size of the token set overflows 64 bits",
                      name, offsetof(TokenFileHeader, bytes)));
    }
    documents += file->documents();
    set.files_.push_back(file);
    set.ends_.push_back(end);
    set.documents_.push_back(documents);
  }
  set.tokenizer_ = std::make_shared<const Tokenizer>(set.files_.front()->tokenizer());
  return set;
}

std::string TokenSet::fingerprint() const {
  return fmt::format("{:016x}", files_.back()->header().fingerprint());
}

void TokenSet::read(std::int64_t begin, std::span<std::int32_t> ids) const {
  const std::int64_t count = std::ssize(ids);
  if (begin < 0 || count > tokens() || begin > tokens() - count) {
    throw ArgumentError(fmt::format("cannot read {} ids from position {}: \"{}\" has {}", count,
                                    begin, path_, tokens()));
  }
  std::size_t f =
      part_of(ends_, begin, [](std::int64_t at, const TokenPlace& end) { return at < end.token; });
  for (; !ids.empty(); ++f) {
    const std::int64_t first = f == 0 ? 0 : ends_[f - 1].token;
    const auto here = std::min<std::int64_t>(std::ssize(ids), ends_[f].token - begin);
    files_[f]->read(begin - first, ids.first(static_cast<std::size_t>(here)));
    ids = ids.subspan(static_cast<std::size_t>(here));
    begin += here;
  }
}

TokenPlace TokenSet::last_place(std::int64_t byte) const {
  if (byte >= bytes()) return ends_.back();
  const std::size_t f =
      part_of(ends_, byte, [](std::int64_t at, const TokenPlace& end) { return at < end.byte; });
  const TokenPlace first = f == 0 ? TokenPlace{} : ends_[f - 1];
  const TokenPlace inside = files_[f]->last_place(byte - first.byte);
  return {first.token + inside.token, first.byte + inside.byte};
}

TokenPlace TokenSet::document_end(std::int64_t i) const {
  if (i < 0 || i >= documents())
    throw ArgumentError(fmt::format("document {} is outside [0, {})", i, documents()));
  const std::size_t f = part_of(documents_, i, std::less<>());
  const TokenPlace first = f == 0 ? TokenPlace{} : ends_[f - 1];
  const TokenPlace end = files_[f]->document_end(i - (f == 0 ? 0 : documents_[f - 1]));
  return {first.token + end.token, first.byte + end.byte};
}

std::int64_t TokenSet::document_of(std::int64_t token) const {
  if (token < 0 || token >= tokens())
    throw ArgumentError(fmt::format("id {} is outside [0, {})", token, tokens()));
  std::int64_t low = 0, high = documents() - 1;
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (document_end(middle).token <= token) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

void require_tokenizer(const TokenSet& set, const Tokenizer& tokenizer, std::string_view owner) {
  if (tokenizer_digest(tokenizer) == set.digest()) return;
  throw DataError(fmt::format(
      "the tokenizer of {} has {}, but the tokenizer of {} has {}: write the token files again, "
      "and pass the second tokenizer to weft data tokenize --tokenizer",
      set.path(), describe_tokenizer(set.tokenizer()), owner, describe_tokenizer(tokenizer)));
}

}  // namespace weft
