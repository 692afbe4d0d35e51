// Exceptions that carry what Python needs, and the text of one: "where: what (got, want)".
#pragma once

#include <stdexcept>
#include <string>

namespace fl {

// A file could not be read. `code` is errno, or 0 where the system gave none (a file that ends too
// early). bind/module.cpp makes an OSError of it, of the class that belongs to the errno.
struct FileError : std::runtime_error {
  FileError(int code, std::string path, std::string why)
      : std::runtime_error(path + ": " + why),
        code(code),
        path(std::move(path)),
        why(std::move(why)) {}

  int code;
  std::string path, why;
};

// The index that says where a sample lies in its file is at fault, and that file is not.
struct IndexError : FileError {
  using FileError::FileError;
};

// The caller gave something that cannot work; becomes ValueError. The parts become one line,
// "where: what (got …, want …)", which is how every error of fastload reads.
[[noreturn]] inline void refuse(const std::string& where, const std::string& what,
                                const std::string& got, const std::string& want) {
  throw std::invalid_argument(where + ": " + what + " (got " + got + ", want " + want + ")");
}

}  // namespace fl
