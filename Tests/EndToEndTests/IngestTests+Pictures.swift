import Foundation
import LayoutEngine
import Testing

@testable import ViewerProbe

/// The panes of a mix while a publisher is away.
extension IngestTests {
    typealias ShownPane = ServiceClient.TaskState.SceneState.Pane

    /// Returns the state of a user's stream; `nil` if it is not pulled.
    static func state(of user: String, _ stage: Stage) async throws -> String? {
        struct Room: Decodable {
            struct Person: Decodable {
                struct Stream: Decodable { var state: String? }
                var user: String
                var streams: [Stream]
            }
            var participants: [Person]
        }
        let answer = try await stage.client.request("GET", "/v1/rooms/\(stage.room)")
        let people = try JSONDecoder().decode(Room.self, from: answer.body).participants
        return people.first { $0.user == user }?.streams.first?.state
    }

    /// Checks that every picture of `times` shows each user's own picture or card in their pane, and that the pictures
    /// of the user who was away stood still and moved again.
    ///
    /// - Parameters:
    ///   - sources: The users' publishers.
    ///   - times: Part of the program's timeline, in ms.
    static func checkPanes(
        _ panes: Set<ShownPane>, of sources: [String: SyntheticPublisher], away: String, in recording: FLVRecording,
        _ times: ClosedRange<Int64>
    ) throws {
        var (pictures, strange): (Int, [String]) = (0, [])
        var moves: [(time: Int64, counter: Int)] = []
        _ = try PictureDecoder.decode(recording.path) { time, picture in
            guard times.contains(time) else { return }
            pictures += 1
            for pane in panes {
                guard let source = sources[pane.user] else { continue }
                let seen = picture.meanColour(
                    x: Double(pane.x) + Double(pane.width) * 0.05, y: Double(pane.y) + Double(pane.height) * 0.25,
                    width: Double(pane.width) * 0.15, height: Double(pane.height) * 0.1)
                if !isPicture(seen, of: pane.user, source) { strange.append("\(pane.user) at \(time): \(seen as Any)") }
                guard pane.user == away else { continue }
                guard let shown = Self.mark(of: source, in: pane, of: picture), shown.counter != moves.last?.counter
                else { continue }
                moves.append((time, shown.counter))
            }
        }
        let pause = zip(moves, moves.dropFirst()).map { $1.time - $0.time }.max() ?? 0
        print("\(pictures) pictures, \(away) stands still for \(pause) ms")
        #expect(
            pictures > 60 && strange.isEmpty, "\(pictures) pictures; neither picture nor card: \(strange.prefix(10))")
        #expect(pause > 500, "\(away) was seen moving all the time: \(moves.map(\.time))")
    }

    /// Returns the mark of a publisher in its pane; `nil` if the pane shows another picture, or none.
    static func mark(of source: SyntheticPublisher, in pane: ShownPane, of picture: Picture) -> SourceMark? {
        let placement = Placement(
            area: PixelRectangle(x: pane.x, y: pane.y, width: pane.width, height: pane.height),
            sourceWidth: source.width, sourceHeight: source.height, fit: .cover)
        return MarkDecoder.read(picture, at: placement).map(\.mark).flatMap { $0.source == source.id ? $0 : nil }
    }

    /// Returns whether a colour is the plain part of a publisher's picture, or the ground of the user's card.
    private static func isPicture(_ seen: ColourSample?, of user: String, _ source: SyntheticPublisher) -> Bool {
        guard let seen else { return false }
        let colours = [source.colour, Card(name: user, user: user).colour].flatMap { colour in
            ColourSample.Matrix.allCases.map { ColourSample(colour, matrix: $0) }
        }
        return colours.contains { colour in
            [seen.luma - colour.luma, seen.blue - colour.blue, seen.red - colour.red].allSatisfy { abs($0) < 16 }
        }
    }
}
