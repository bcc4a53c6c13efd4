import ArgumentParser
import Foundation
import LayoutEngine
import RoomService
import TextFormats

/// Values from the command line, in place of those of a program on air.
enum PreviewValues {
    /// Reads `NAME=VALUE` arguments.
    ///
    /// - Returns: The template with its parameters' values, and the values of its texts.
    /// - Throws: `ValidationError` or `CommandFailure` with all errors.
    static func read(
        params: [String], values: [String], of template: LayoutTemplate
    ) throws -> (template: LayoutTemplate, values: LayoutValues) {
        var set: [String: LayoutParameter.Value] = [:]
        for argument in params {
            let (name, text) = try pair(argument, option: "--param")
            set[name] = value(text, of: template.parameters.first { $0.name == name })
        }
        do {
            let patch = try JSONEncoder().encode(set)
            let node = try JSONNode(parsing: Array(patch), limits: JSONLimits(deepest: 4))
            return (template.applying(try template.merging(node, into: [:])), try shown(values))
        } catch let error as LayoutError {
            // Lines and columns do not refer to any file.
            throw CommandFailure(
                error.issues.map { issue in
                    "--param \(issue.path.dropFirst(2)): found \(issue.found), expected \(issue.expected)"
                        + (issue.suggestion.map { "; did you mean \($0)?" } ?? "")
                }.joined(separator: "\n"))
        }
    }

    /// Returns the value of a text, by the kind of the parameter.
    private static func value(_ text: String, of parameter: LayoutParameter?) -> LayoutParameter.Value {
        switch parameter?.kind {
        case .number: Double(text).map { .number($0) } ?? .text(text)
        case .visible: Bool(text).map { .flag($0) } ?? .text(text)
        case .text, .colour, .image, nil: .text(text)
        }
    }

    private static func shown(_ arguments: [String]) throws -> LayoutValues {
        var values = LayoutValues()
        for argument in arguments {
            let (name, text) = try pair(argument, option: "--value")
            switch name {
            case "viewers": values.viewers = try number(text, name)
            case "likes": values.likes = try number(text, name)
            case "comment": values.comment = ForeignText.line(text, characters: 146, bytes: 460)
            default:
                throw ValidationError("--value: expected viewers, likes or comment, found \(name)")
            }
        }
        return values
    }

    private static func number(_ text: String, _ name: String) throws -> Int {
        guard let number = Int(text), 0...1_000_000_000 ~= number else {
            throw ValidationError("--value \(name): expected a whole number, 0…1000000000; found \(text)")
        }
        return number
    }

    private static func pair(_ argument: String, option: String) throws -> (name: String, text: String) {
        guard let separator = argument.firstIndex(of: "="), separator > argument.startIndex else {
            throw ValidationError("\(option): expected NAME=VALUE, found \(argument)")
        }
        return (String(argument[..<separator]), String(argument[argument.index(after: separator)...]))
    }
}
