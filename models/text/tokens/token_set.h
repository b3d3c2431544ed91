// A token set consists of several token files that are read as one. For example, the set "corpus"
// consists of corpus-00000.tok, corpus-00001.tok, and so on.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/models/text/tokenizers/tokenizer.h"
#include "weft/models/text/tokens/token_file.h"

namespace WEFT_API weft {

/// Returns the name of a file in the set `prefix`, for example "corpus-00012.tok".
std::string token_file_name(const std::string& prefix, std::int64_t number);
/// Returns true if `path` refers to a set, that is, if it is the prefix of a set or the first file
/// of a set (any file that begins with the magic number of token files).
bool is_token_set(const std::string& path);

/// An open token set. Immutable and thread-safe. Copies share the files.
class TokenSet {
 public:
  /// Opens a set, given by its prefix or its first file. Throws the same errors as TokenFile.
  /// Throws FormatError if files are missing, belong to different sets, or have different
  /// tokenizers.
  static TokenSet open(const std::string& path);

  /// The path that was passed to open().
  const std::string& path() const { return path_; }
  const std::vector<std::shared_ptr<const TokenFile>>& files() const { return files_; }
  /// Totals over all files.
  std::int64_t tokens() const { return ends_.back().token; }
  std::int64_t documents() const { return documents_.back(); }
  std::int64_t bytes() const { return ends_.back().byte; }
  const Tokenizer& tokenizer() const { return *tokenizer_; }
  const TokenizerDigest& digest() const { return files_.front()->header().digest; }
  /// The end-of-text id after every document; -1 if there is none.
  std::int32_t end_id() const { return files_.front()->header().end_id; }
  /// Returns a content hash that identifies the set, as 16 hexadecimal digits.
  std::string fingerprint() const;

  /// Same as TokenFile::read(), but for positions in the whole set.
  void read(std::int64_t begin, std::span<std::int32_t> ids) const;
  TokenPlace last_place(std::int64_t byte) const;
  TokenPlace document_end(std::int64_t i) const;
  /// Returns the index of the document that contains the id at position `token`.
  std::int64_t document_of(std::int64_t token) const;

 private:
  std::string path_;
  std::vector<std::shared_ptr<const TokenFile>> files_;
  std::vector<TokenPlace> ends_;         // end of each file
  std::vector<std::int64_t> documents_;  // number of documents up to the end of each file
  std::shared_ptr<const Tokenizer> tokenizer_;
};

/// Throws DataError if `tokenizer` differs from the tokenizer of the set. The message describes
/// both tokenizers. `owner` describes the owner of `tokenizer` in the message, for example "the
/// model in net.weft".
void require_tokenizer(const TokenSet& set, const Tokenizer& tokenizer, std::string_view owner);

}  // namespace weft
