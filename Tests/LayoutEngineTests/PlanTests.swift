import LayoutEngine
import Testing

struct PlanTests {
    private func rectangles(
        _ algorithm: Algorithm, _ count: Int, _ canvas: Canvas, gap: Double = 0, margin: Double = 0
    ) -> [[Int]] {
        LayoutEngine.plan(
            LayoutTemplate(.algorithm(algorithm), gap: gap, margin: margin), participants: people(count), canvas: canvas
        ).panes.map(\.rectangle)
    }

    @Test func twoPeopleOnAPortraitCanvasAreSeenWhole() {
        #expect(rectangles(.sideBySide, 2, .portrait) == [[0, 320, 360, 640], [360, 320, 360, 640]])
    }

    @Test func twoPeopleOnALandscapeCanvasShareIt() {
        #expect(rectangles(.sideBySide, 2, .landscape) == [[0, 0, 640, 720], [640, 0, 640, 720]])
    }

    @Test func lastRowOfAGridIsCentred() {
        let tiles = rectangles(.grid(tileAspect: nil), 5, .landscape)
        #expect(
            tiles == [
                [0, 0, 426, 360], [426, 0, 426, 360], [852, 0, 426, 360], [214, 360, 426, 360],
                [640, 360, 426, 360],
            ])
    }

    @Test(arguments: [
        (1, 1, 1), (2, 1, 1), (3, 2, 2), (4, 2, 2), (5, 2, 3), (6, 2, 3), (9, 3, 3), (12, 3, 3), (16, 4, 4),
    ])
    func gridChoosesColumnsForTheLargestTiles(count: Int, portrait: Int, landscape: Int) {
        func columns(_ canvas: Canvas) -> Int {
            let tiles = rectangles(.grid(tileAspect: nil), count, canvas)
            return tiles.count { $0[1] == tiles[0][1] }
        }
        #expect(columns(.portrait) == portrait)
        #expect(columns(.landscape) == (count == 2 ? 2 : count == 12 ? 4 : landscape))
    }

    @Test func tileAspectIsKept() throws {
        let aspect = try #require(Aspect("16:9"))
        #expect(rectangles(.grid(tileAspect: aspect), 2, .portrait) == [[0, 236, 720, 404], [0, 640, 720, 404]])
    }

    @Test(arguments: [
        (PictureInPictureAlgorithm.Corner.bottomRight, [482, 874]), (.bottomLeft, [22, 874]), (.topRight, [482, 22]),
        (.topLeft, [22, 22]),
    ])
    func smallPaneStandsInItsCorner(corner: PictureInPictureAlgorithm.Corner, origin: [Int]) {
        let algorithm = Algorithm.pictureInPicture(corner: corner, size: UnitFraction(0.3))
        #expect(
            rectangles(algorithm, 2, .portrait, margin: 0.03) == [[0, 0, 720, 1280], origin + [216, 384]])
    }

    @Test func manySmallPanesShrinkTogether() {
        let algorithm = Algorithm.pictureInPicture(corner: .topLeft, size: UnitFraction(0.5))
        let panes = rectangles(algorithm, 5, .landscape)
        #expect(panes.dropFirst().map { $0 } == (0..<4).map { [0, 180 * $0, 320, 180] })
    }

    @Test func hostsComeFirstThenJoinOrder() {
        var crowd = people(3)
        crowd[0].role = .guest
        crowd[2].role = .host
        crowd[0].joinOrder = 9
        let scene = LayoutEngine.plan(
            LayoutTemplate(.sideBySide), participants: crowd, canvas: .landscape)
        #expect(scene.panes.map(\.user) == ["user2", "user1", "user0"])
    }

    @Test func seventeenthPersonIsNotShown() {
        var crowd = people(40)
        crowd[39].role = .host
        let scene = LayoutEngine.plan(LayoutLibrary.automatic, participants: crowd, canvas: .portrait)
        #expect(scene.panes.count == 16)
        #expect(scene.panes.prefix(2).map(\.user) == ["user0", "user39"])
    }

    @Test func peopleWithoutAPictureGetTheirCardUnlessOmitted() {
        var crowd = people(3)
        crowd[1].hasVideo = false
        var scene = LayoutEngine.plan(LayoutLibrary.automatic, participants: crowd, canvas: .portrait)
        #expect(scene.panes.map(\.user) == ["user0", "user1", "user2"])
        #expect(scene.panes.map(\.isLive) == [true, false, true])
        #expect(scene.panes.map(\.fallback) == [.card, .card, .card])

        var template = LayoutLibrary.automatic
        for index in template.arrangements.indices { template.arrangements[index].settings.omitsAudioOnly = true }
        scene = LayoutEngine.plan(template, participants: crowd, canvas: .portrait)
        #expect(scene.panes.map(\.user) == ["user0", "user2"])
        #expect(scene.panes.map(\.height) == [622, 622])
        #expect(scene.sound.levels.map(\.source) == ["user0/camera", "user1/camera", "user2/camera"])
    }

    @Test func firstArrangementThatHoldsIsUsedAndAutoWhereNoneDoes() {
        let template = LayoutTemplate(
            name: "rules",
            arrangements: [
                Arrangement(when: .init(people: 2...3), placement: .algorithm(.solo)),
                Arrangement(when: .init(people: 3...4), placement: .algorithm(.sideBySide)),
            ])
        let counts = (0...5).map {
            LayoutEngine.plan(template, participants: people($0), canvas: .landscape).panes.count
        }
        #expect(counts == [0, 1, 1, 1, 4, 5])
    }

    @Test func templateReplacesPartsOfTheCanvas() {
        var template = LayoutTemplate(.solo)
        template.canvas = CanvasOverride(fps: 25, background: RGB(red: 1, green: 2, blue: 3))
        let scene = LayoutEngine.plan(template, participants: people(1), canvas: .portrait)
        #expect(
            scene.canvas
                == Canvas(width: 720, height: 1280, fps: 25, background: RGB(red: 1, green: 2, blue: 3)))
    }

    @Test func panesAreGivenToUsersThenRolesThenSlots() {
        func pane(_ binding: PaneTemplate.Binding, _ column: Int, z: Int = 0) -> PaneTemplate {
            PaneTemplate(
                binding: binding,
                area: Area(x: UnitFraction(Double(column) * 0.25), y: .zero, width: UnitFraction(0.25), height: .whole),
                z: z)
        }
        let template = LayoutTemplate(
            .panes([pane(.slot(2), 0), pane(.slot(1), 1), pane(.role(.host), 2), pane(.user("user2"), 3, z: 1)]))
        let scene = LayoutEngine.plan(template, participants: people(4), canvas: .landscape)
        let shown = Dictionary(uniqueKeysWithValues: scene.panes.map { ($0.user, $0.x) })
        #expect(shown == ["user0": 640, "user1": 320, "user2": 960, "user3": 0])
        #expect(scene.panes.last?.user == "user2")

        let alone = LayoutEngine.plan(template, participants: people(1), canvas: .landscape)
        #expect(alone.panes.map(\.rectangle) == [[640, 0, 320, 720]])
    }

    @Test func panesThatTouchInATemplateTouchInPixels() {
        let thirds = (0..<3).map { index in
            PaneTemplate(
                binding: .slot(index + 1),
                area: Area(
                    x: UnitFraction([0, 0.1, 0.3][index]), y: .zero, width: UnitFraction([0.1, 0.2, 0.7][index]),
                    height: .whole))
        }
        for width in stride(from: 40, through: 2000, by: 2) {
            let canvas = Canvas(width: width, height: 100, fps: 20)
            let scene = LayoutEngine.plan(LayoutTemplate(.panes(thirds)), participants: people(3), canvas: canvas)
            #expect(scene.panes.map(\.width).reduce(0, +) == width)
            #expect(flaws(of: scene) == [])
        }
    }
}

/// Large panes with strips, and stacks.
struct SpotlightTests {
    private func rectangles(
        _ count: Int, _ canvas: Canvas, _ spotlight: SpotlightAlgorithm = .init(), gap: Double = 0, margin: Double = 0
    ) -> [[Int]] {
        LayoutEngine.plan(
            LayoutTemplate(.algorithm(.spotlight(spotlight)), gap: gap, margin: margin), participants: people(count),
            canvas: canvas
        ).panes.map(\.rectangle)
    }

    @Test func stripIsBelowOnPortraitAndRightOnLandscape() {
        #expect(
            rectangles(3, .portrait) == [[0, 0, 720, 960], [0, 960, 360, 320], [360, 960, 360, 320]])
        #expect(
            rectangles(3, .landscape) == [[0, 0, 960, 720], [960, 0, 320, 360], [960, 360, 320, 360]])
    }

    @Test(arguments: [
        (SpotlightAlgorithm.Edge.top, [[0, 320, 720, 960], [0, 0, 360, 320]]),
        (.bottom, [[0, 0, 720, 960], [0, 960, 360, 320]]), (.left, [[180, 0, 540, 1280], [0, 320, 180, 320]]),
        (.right, [[0, 0, 540, 1280], [540, 320, 180, 320]]),
    ])
    func stripLiesAtItsEdge(edge: SpotlightAlgorithm.Edge, expected: [[Int]]) {
        #expect(Array(rectangles(3, .portrait, .init(edge: edge)).prefix(2)) == expected)
    }

    @Test func whatTilesDoNotNeedGoesToTheLargePane() {
        // Seven tiles of 1:1 in a row are 102 pixels high.
        let panes = rectangles(8, .portrait, .init(size: UnitFraction(0.25), tileAspect: Aspect("1:1")), gap: 0)
        #expect(panes[0][3] + panes[1][3] * (panes.count { $0[1] != panes[1][1] } == 1 ? 1 : 2) == 1280)
        #expect(panes.dropFirst().allSatisfy { $0[2] == $0[3] })
        #expect(panes.last.map { $0[1] + $0[3] } == 1280)
    }

    @Test func gapAndMarginAreKept() {
        let panes = rectangles(2, .portrait, .init(size: UnitFraction(0.4)), gap: 0.05, margin: 0.05)
        #expect(panes == [[36, 36, 648, 688], [36, 760, 648, 484]])
    }

    @Test func stripHoldsSoManyAndNoMore() {
        #expect(rectangles(10, .portrait, .init(most: 3)).count == 4)
        #expect(rectangles(1, .portrait) == [[0, 0, 720, 1280]])
    }

    @Test func stackFillsTheCanvas() {
        func stack(_ direction: StackAlgorithm.Direction) -> [[Int]] {
            LayoutEngine.plan(LayoutTemplate(.stack(direction)), participants: people(3), canvas: .portrait).panes
                .map(\.rectangle)
        }
        #expect(stack(.vertical) == [[0, 0, 720, 426], [0, 426, 720, 426], [0, 852, 720, 426]])
        #expect(stack(.horizontal) == [[0, 0, 240, 1280], [240, 0, 240, 1280], [480, 0, 240, 1280]])
    }
}
