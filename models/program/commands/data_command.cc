// weft data: converts texts to token files, and describes token files.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "weft/models/fields/numbers.h"
#include "weft/models/program/commands/commands.h"
#include "weft/models/program/files/paths.h"
#include "weft/models/program/options/corpus_arguments.h"
#include "weft/models/program/options/options.h"
#include "weft/models/program/terminal/console.h"
#include "weft/models/program/terminal/progress_pace.h"
#include "weft/models/program/terminal/usage_error.h"
#include "weft/models/text/corpus/tokenize.h"
#include "weft/models/text/tokenizers/read_tokenizer.h"
#include "weft/models/text/tokens/token_set.h"

namespace weft::program {
namespace {

struct TokenizeArguments {
  CorpusArguments corpus;
  std::string tokenizer, out;
  int threads = 0;
  std::size_t file_bytes = TokenSetWriter::kDefaultFileBytes;
  bool force = false, special = false;
};

/// Prints the progress of tokenization. On a terminal, one line is redrawn; otherwise a line is
/// printed occasionally.
class TokenizeView {
 public:
  explicit TokenizeView(std::uint64_t bytes) : bytes_(bytes), terminal_(isatty(STDOUT_FILENO)) {}

  void operator()(const TokenizeProgress& now) {
    // The size of a pipe is unknown.
    const auto percent =
        bytes_ == 0 ? 0 : static_cast<std::int64_t>(100.0 * std::min(1.0, share(now.bytes_read)));
    const double seconds = elapsed();
    if (terminal_ ? seconds - last_ < kRedrawSeconds
                  : percent == shown_ && seconds - last_ < ProgressPace::kSeconds)
      return;
    if (!terminal_ && !pace_.due(percent, 100, seconds)) return;
    last_ = seconds;
    shown_ = percent;
    say("{}{}%  {} documents, {} tokens  {}/s{}", terminal_ ? "\r\x1b[2K" : "", percent,
        grouped(now.totals.documents), grouped(now.totals.tokens),
        short_bytes(static_cast<double>(now.bytes_read) / std::max(seconds, 1e-3)),
        terminal_ ? "" : "\n");
    flush_stdout();
  }
  /// Clears the line that is being redrawn.
  void finish() const {
    if (terminal_) say("\r\x1b[2K");
  }

 private:
  static constexpr double kRedrawSeconds = 0.1;
  double share(std::uint64_t read) const {
    return static_cast<double>(read) / static_cast<double>(bytes_);
  }
  double elapsed() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

  std::uint64_t bytes_;
  bool terminal_;
  ProgressPace pace_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  double last_ = 0;
  std::int64_t shown_ = -1;
};

std::string file_names(const std::string& prefix, std::int64_t files) {
  const std::string first = token_file_name(prefix, 0);
  return files == 1 ? first : fmt::format("{} to {}", first, token_file_name(prefix, files - 1));
}

int tokenize_files(const TokenizeArguments& args, CommandPaths paths) {
  if (args.out.empty() || args.out.ends_with('/') || args.out.ends_with(".tok")) {
    throw UsageError(fmt::format(
        "--out {} is not a prefix for file names: it must not be empty or end in / or .tok (for "
        "example, the prefix corpus results in {})",
        args.out, token_file_name("corpus", 0)));
  }
  paths.plan_token_files("--out", args.out);
  const Tokenizer tokenizer = read_tokenizer(args.tokenizer);
  const std::vector<CorpusFile> files = args.corpus.files();
  std::uint64_t bytes = 0;
  for (const CorpusFile& file : files) bytes += file.bytes;
  paths.check_inputs();
  say("tokenizer {}: {}\n", args.tokenizer, describe_tokenizer(tokenizer));
  say("text      {} {}, {}\n", grouped(std::ssize(files)), files.size() == 1 ? "file" : "files",
      short_bytes(static_cast<double>(bytes)));
  flush_stdout();
  TokenSetWriter writer(args.out, tokenizer, args.file_bytes);
  TokenizeView view(bytes);
  tokenize(
      files, tokenizer,
      {.corpus = args.corpus.options(), .threads = args.threads, .special_in_text = args.special},
      writer, [&](const TokenizeProgress& now) { view(now); });
  view.finish();
  const TokenSetWriter::Totals all = writer.finish();
  say("wrote     {}: {} documents, {} {} of {}, {:.3f} bytes each\n",
      file_names(args.out, all.files), grouped(all.documents), grouped(all.tokens),
      tokenizer.unit(), short_bytes(static_cast<double>(all.bytes)),
      static_cast<double>(all.bytes) / static_cast<double>(all.tokens));
  return 0;
}

int inspect(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    const TokenSet set = TokenSet::open(path);
    for (const auto& file : set.files()) file->check_ids();
    const Tokenizer& tokenizer = set.tokenizer();
    say("{}: {} {}, {} documents, {} tokens of {} bytes each, {} bytes of text\n", path,
        set.files().size(), set.files().size() == 1 ? "file" : "files", grouped(set.documents()),
        grouped(set.tokens()), set.files().front()->header().id_bytes, grouped(set.bytes()));
    say("  tokenizer  {}\n", describe_tokenizer(tokenizer));
    say("  documents  end with {}\n",
        set.end_id() < 0 ? "no special id"
                         : fmt::format("id {}, {}", set.end_id(), tokenizer.piece(set.end_id())));
  }
  return 0;
}

void add_tokenize(CLI::App& app, Action& action) {
  OptionList options(app, "tokenize", "Convert texts of any size to token files for weft train");
  const auto args = std::make_shared<TokenizeArguments>();
  add_corpus(options, args->corpus);
  options
      .input("--tokenizer", args->tokenizer,
             "a tokenizer.json, a Hugging Face folder, a SentencePiece model, or a .weft file")
      .required();
  options
      .text(
          "--out", args->out,
          "prefix of the output file names (for example, corpus results in corpus-00000.tok, ...)")
      .required();
  options.flag("--special", args->special,
               "encode the names of special tokens in the texts, such as <|endoftext|>, as these "
               "tokens (default: as ordinary text)");
  options.flag("--force", args->force,
               "replace existing files of another type that have these names");
  options.bytes("--shard-size", args->file_bytes,
                "target size of the ids per file; a file is closed after the document that reaches "
                "this size (default: 1GiB)");
  options.threads(args->threads);
  options.run(action, [args, &parsed = options.command()] {
    return tokenize_files(*args, CommandPaths(parsed, args->force));
  });
}

void add_inspect(CLI::App& app, Action& action) {
  OptionList options(app, "inspect", "Describe token files and verify their checksums");
  const auto paths = std::make_shared<std::vector<std::string>>();
  options
      .inputs(
          "files", *paths,
          "sets of token files, each given by its first file or by the prefix of its file names")
      .required();
  options.run(action, [paths] { return inspect(*paths); });
}

}  // namespace

void add_data_command(CLI::App& app, Action& action) {
  OptionList data(app, "data", "Prepare texts for training");
  data.needs_command();
  add_tokenize(data.command(), action);
  add_inspect(data.command(), action);
}

}  // namespace weft::program
