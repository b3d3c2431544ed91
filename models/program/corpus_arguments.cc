#include "weft/models/program/corpus_arguments.h"

namespace weft::program {

void add_corpus(OptionList& options, CorpusArguments& args) {
  options
      .inputs("files", args.paths,
              "text files (UTF-8) and files of JSON objects on lines (.jsonl, .ndjson), plain or "
              "packed by gzip or zstd; folders with such files")
      .required();
  options.choice(
      "--format", {"text", "jsonl"},
      [&args](const std::string& name) { args.format = parse_choice<CorpusFormat>(name); },
      "what all files hold; of a folder then all are taken (default: by their names)");
  options.choice(
      "--documents", {"file", "blank-line", "line"},
      [&args](const std::string& name) { args.options.end = parse_choice<DocumentEnd>(name); },
      "where a document of a text file ends: with the file, before a blank line, or with every "
      "line (default: file)");
  options.text("--field", args.options.field,
               "the field of JSON objects that holds the text (default: text)");
}

}  // namespace weft::program
