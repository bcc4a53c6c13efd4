import Foundation
import MixModel
import TextFormats

/// Parses the bytes of one connection into commands. Used only on the relay's document queue.
final class CommandReader: @unchecked Sendable {
    enum Line: Sendable {
        case command(RelayCommand)
        /// A line that is not a command, with the reason, which contains no secrets.
        case unreadable(String)
    }

    private var lines = LineBuffer()

    /// Returns the complete commands; `nil` if a line is too long.
    func push(_ bytes: [UInt8]) -> [Line]? {
        lines.push(bytes)?.map { line in
            do {
                return .command(try JSONDecoder().decode(RelayCommand.self, from: Data(line)))
            } catch {
                return .unreadable(URLRedaction.redact("\(error)"))
            }
        }
    }
}
