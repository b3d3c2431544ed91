// The commands of the program `weft`. Each function adds the options of its command to the command
// line and sets `action` to the action of that command, which returns the exit code.
#pragma once

#include "weft/models/program/options/action.h"

namespace CLI {
class App;
}

namespace weft::program {

void add_train_command(CLI::App& app, Action& action);
void add_classify_command(CLI::App& app, Action& action);
void add_tag_command(CLI::App& app, Action& action);
void add_fill_command(CLI::App& app, Action& action);
void add_embed_command(CLI::App& app, Action& action);
void add_rerank_command(CLI::App& app, Action& action);
void add_vectors_command(CLI::App& app, Action& action);
void add_answer_command(CLI::App& app, Action& action);
void add_generate_command(CLI::App& app, Action& action);
void add_chat_command(CLI::App& app, Action& action);
void add_score_command(CLI::App& app, Action& action);
void add_translate_command(CLI::App& app, Action& action);
void add_transcribe_command(CLI::App& app, Action& action);
void add_inspect_command(CLI::App& app, Action& action);
void add_tokenizer_command(CLI::App& app, Action& action);
void add_quantize_command(CLI::App& app, Action& action);
void add_convert_command(CLI::App& app, Action& action);
void add_merge_command(CLI::App& app, Action& action);
void add_evaluate_command(CLI::App& app, Action& action);
void add_bench_command(CLI::App& app, Action& action);
void add_run_command(CLI::App& app, Action& action);
void add_data_command(CLI::App& app, Action& action);
void add_verify_command(CLI::App& app, Action& action);
void add_serve_command(CLI::App& app, Action& action);  // if Weft was built with WEFT_HTTP

/// All commands, in the order of the help text.
inline constexpr void (*kCommands[])(CLI::App& app, Action& action) = {
    add_train_command,      add_classify_command, add_tag_command,       add_fill_command,
    add_embed_command,      add_rerank_command,   add_vectors_command,   add_answer_command,
    add_generate_command,   add_chat_command,     add_score_command,     add_translate_command,
    add_transcribe_command, add_inspect_command,  add_tokenizer_command, add_quantize_command,
    add_convert_command,    add_merge_command,    add_evaluate_command,  add_bench_command,
    add_run_command,        add_data_command,     add_verify_command,
#ifdef WEFT_PROGRAM_HTTP
    add_serve_command,
#endif
};

}  // namespace weft::program
