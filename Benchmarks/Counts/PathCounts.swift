import Allocations
import Foundation

/// Runs one of the paths that every frame or every event takes, for instructions and allocations to be counted.
///
/// `PathCounts` lists the paths. `PathCounts NAME COUNT` does a path's work COUNT times and prints the allocations
/// that it made. Two counts tell what one unit costs: everything else is the same in both.
@main
enum PathCounts {
    static func main() throws {
        let paths = try MediaPaths.all() + ControlPaths.all()
        let arguments = CommandLine.arguments.dropFirst()
        guard let name = arguments.first else {
            for path in paths { print(path.name, path.unit, path.about, separator: "\t") }
            return
        }
        guard let path = paths.first(where: { $0.name == name }),
            let count = arguments.dropFirst().first.flatMap(Int.init)
        else {
            FileHandle.standardError.write(Data("PathCounts: no path \(name), or no count\n".utf8))
            exit(EXIT_FAILURE)
        }
        // Tables and caches that are made at the first use.
        _ = try path.work(2)
        let before = allocations_so_far()
        let used = try path.work(count)
        let made = allocations_so_far() - before
        guard used > 0 else {
            FileHandle.standardError.write(Data("PathCounts: \(name) does nothing\n".utf8))
            exit(EXIT_FAILURE)
        }
        print(made)
    }
}

/// A path and its work.
struct CountedPath {
    var name: String
    /// The unit in which the work is counted.
    var unit: String
    var about: String
    /// Does the work so many times and returns a number that depends on all of it and is greater than zero.
    var work: (Int) throws -> Int
}
