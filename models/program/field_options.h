// Command-line options made from the fields of a config: a new field is an option at once.
#pragma once

#include <map>
#include <set>
#include <string>

#include "weft/models/fields/field_list.h"
#include "weft/models/program/options.h"

namespace weft::program {

/// Help that says more about a field than its own does, where a command knows more: by name.
using FieldHelp = std::map<std::string, std::string, std::less<>>;

/// Adds "--field-name" for every field but those in `skip`; a bool becomes a flag and its "--no-"
/// form. Values given are put into `given`, which must outlive `options`.
void add_field_options(OptionList& options, const std::string& group, const FieldListBase& fields,
                       const std::set<std::string>& skip, FieldTexts& given,
                       const FieldHelp& help = {});

/// "layer_norm_eps" -> "--layer-norm-eps".
std::string option_name(const std::string& field);

}  // namespace weft::program
