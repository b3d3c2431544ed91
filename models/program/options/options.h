// The options of a command. Every option declares the type of its values, so that all values are
// parsed strictly in one place. Empty values are rejected. Tests rely on the type shown in --help
// ("INTEGER[1, 64]", "FILE"), and CommandPaths uses it to find the files that a command reads.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "weft/models/fields/numbers.h"
#include "weft/models/program/options/action.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace CLI {
class App;
}

namespace weft {
struct ModelPath;
class Trace;
}  // namespace weft

namespace weft::program {

/// Types of options as shown in --help. They may be followed by a range or by the choices.
inline constexpr const char* kInputType = "FILE";     // a file or folder that is read
inline constexpr const char* kOutputType = "OUTPUT";  // a file that is written
inline constexpr const char* kFolderType = "FOLDER";  // a folder that receives new files
inline constexpr const char* kIntegerType = "INTEGER";
inline constexpr const char* kNumberType = "NUMBER";
inline constexpr const char* kBytesType = "BYTES";
inline constexpr const char* kChoiceType = "CHOICE";
inline constexpr const char* kIdsType = "IDS";  // "1 2 3"
inline constexpr const char* kPlaceType = "POSITION:ID";
inline constexpr const char* kStepsType = "FIRST-LAST";
inline constexpr const char* kTextType = "TEXT";

/// Common ranges.
inline constexpr IntegerRange<std::int64_t> kFromZero{0, 1'000'000'000};
inline constexpr IntegerRange<std::int64_t> kFromOne{1, 1'000'000'000};
inline constexpr RealRange kAboveZeroToOne{0, 1, true};

/// A handle for setting further properties of an added option.
class AddedOption {
 public:
  explicit AddedOption(CLI::Option* option) : option_(option) {}

  AddedOption required() const;
  AddedOption needs(const AddedOption& other) const;
  /// Lists the option under this title in the help.
  AddedOption group(const std::string& title) const;

  /// True if the option was given on the command line.
  bool given() const;
  std::string name() const;

 private:
  CLI::Option* option_;
};

/// How a command runs a model.
struct Execution {
  int threads = 0;
  bool batch_invariant = false;  // SessionOptions::batch_invariant
  Trace* trace = nullptr;        // SessionOptions::trace
};

/// An option that was given on the command line, with its values.
struct GivenOption {
  std::string name, type;
  std::vector<std::string> values;
};
/// Returns the options that were given for a parsed command.
std::vector<GivenOption> given_options(const CLI::App& command);

/// A command and its options. Hides the library that parses the command line.
class OptionList {
 public:
  using Range = IntegerRange<std::int64_t>;
  /// once: the option can be given only once. repeated: the option can be repeated, with one value
  /// each time. list: the option can be repeated, with several values each time.
  enum class Times { once, repeated, list };

  explicit OptionList(CLI::App& command) : command_(command) {}
  /// Adds a new command below `parent`.
  OptionList(CLI::App& parent, const std::string& name, const std::string& about);

  CLI::App& command() const { return command_; }
  /// Requires that one of the subcommands is given.
  void needs_command();
  /// Calls `use` after a command line with this command has been parsed.
  void then(std::function<void()> use);
  /// Sets `action` to `what` if this command is given.
  void run(Action& action, Action what);

  AddedOption input(const std::string& name, std::string& to, const std::string& help);
  /// A model file or folder. Also adds --ignore-config-key, for folders, and --verify.
  AddedOption input(const std::string& name, ModelPath& to, const std::string& help);
  AddedOption inputs(const std::string& name, std::vector<std::string>& to,
                     const std::string& help);
  AddedOption output(const std::string& name, std::string& to, const std::string& help);
  /// A folder to which the command adds files, and which it creates if necessary.
  AddedOption output_folder(const std::string& name, std::string& to, const std::string& help);
  AddedOption text(const std::string& name, std::string& to, const std::string& help);
  AddedOption text(const std::string& name, std::optional<std::string>& to,
                   const std::string& help);
  AddedOption texts(const std::string& name, std::vector<std::string>& to, Times times,
                    const std::string& help, const char* type = kTextType);
  /// Ids in the format of parse_ids(), stored as text.
  AddedOption ids(const std::string& name, std::string& to, const std::string& help);
  /// As above, but the option may be repeated.
  AddedOption ids(const std::string& name, std::vector<std::string>& to, const std::string& help);

  /// An integer in `range`. T is an integer type or a std::optional of one.
  template <class T>
  AddedOption integer(const std::string& name, T& to, const Range& range, const std::string& help) {
    return add(name, integer_type(range), Times::once, help,
               [&to, name, range](const std::string& text) {
                 to = static_cast<Plain<T>>(parse_integer(label(name), text, range));
               });
  }
  /// An unsigned 64-bit integer.
  template <class T>
  AddedOption seed(const std::string& name, T& to, const std::string& help) {
    return add(name, std::string(kIntegerType) + "[0, 2^64)", Times::once, help,
               [&to, name](const std::string& text) { to = parse_unsigned(label(name), text); });
  }
  /// A real number in `range`. T is double or std::optional<double>.
  template <class T>
  AddedOption real(const std::string& name, T& to, const RealRange& range,
                   const std::string& help) {
    return add(
        name, number_type(range), Times::once, help,
        [&to, name, range](const std::string& text) { to = parse_real(label(name), text, range); });
  }
  /// A positive number of bytes, such as 500MiB.
  AddedOption bytes(const std::string& name, std::size_t& to, const std::string& help);
  /// One of the values in `legal`. The value is passed to `use`.
  AddedOption choice(const std::string& name, const std::vector<std::string>& legal,
                     std::function<void(const std::string&)> use, const std::string& help);
  AddedOption choice(const std::string& name, const std::vector<std::string>& legal,
                     std::string& to, const std::string& help);
  AddedOption flag(const std::string& name, bool& to, const std::string& help);
  /// Adds the flags "--name" and "--no-name".
  AddedOption switches(const std::string& name, std::function<void(bool)> use,
                       const std::string& help);
  /// Adds --threads.
  AddedOption threads(int& to);
  /// Adds --threads and --batch-invariant.
  void execution(Execution& to);

  /// Adds an option that passes each of its values to `use`. `use` must throw ArgumentError if a
  /// value is invalid.
  AddedOption add(const std::string& name, const std::string& type, Times times,
                  const std::string& help, std::function<void(const std::string&)> use);

  /// Returns the type that the help shows for a range, such as "INTEGER[1, 64]".
  static std::string integer_type(const Range& range);
  static std::string number_type(const RealRange& range);

  /// Returns the name of an option for messages: "--name", or "file" for a positional argument.
  static std::string label(const std::string& name);

 private:
  AddedOption add_path(const std::string& name, const char* type, std::string& to,
                       const std::string& help);
  template <class T>
  struct PlainOf {
    using Type = T;
  };
  template <class T>
  struct PlainOf<std::optional<T>> {
    using Type = T;
  };
  template <class T>
  using Plain = typename PlainOf<T>::Type;

  CLI::App& command_;
};

}  // namespace weft::program
