"""Small data sets of aspect-based sentiment in each format."""

NIKL = (
    '{"id": "train-1", "sentence_form": "둘째가 이걸 너무 좋아한다. 기어 변속이 나쁘다", "annotation": '
    '[["본품#품질", ["기어", 16, 18], "negative"], ["제품 전체#일반", [null, 0, 0], "positive"]]}\n'
    '{"id": "train-2", "sentence_form": "그냥 그렇다", "annotation": [["제품 전체#일반", "neutral"]]}\n'
)


SEMEVAL14 = """\
<?xml version="1.0" encoding="UTF-8" standalone="yes"?>
<sentences>
  <sentence id="813">
    <text>All the appetizers and salads were fabulous &amp; cheap.</text>
    <aspectTerms>
      <aspectTerm term="appetizers" polarity="positive" from="8" to="18"/>
      <aspectTerm term="salads" polarity="conflict" from="23" to="29"/>
    </aspectTerms>
    <aspectCategories><aspectCategory category="food" polarity="positive"/></aspectCategories>
  </sentence>
  <sentence><text>Nothing here.</text></sentence>
</sentences>
"""


SEMEVAL16 = """\
<?xml version="1.0" encoding="UTF-8"?>
<Reviews>
  <Review rid="1">
    <sentences>
      <sentence id="1:0">
        <text>Judging from previous posts this used to be a good place.</text>
        <Opinions>
          <Opinion target="place" category="RESTAURANT#GENERAL" polarity="negative" from="51" to="56"/>
          <Opinion target="NULL" category="SERVICE#GENERAL" polarity="neutral" from="0" to="0"/>
        </Opinions>
      </sentence>
      <sentence id="1:1" OutOfScope="TRUE"><text>Go elsewhere.</text></sentence>
    </sentences>
  </Review>
  <Review rid="2">
    <sentences>
      <sentence id="2:0"><text>It is slow.</text>
        <Opinions><Opinion category="LAPTOP#OPERATION_PERFORMANCE" polarity="negative"/></Opinions>
      </sentence>
    </sentences>
  </Review>
</Reviews>
"""


ASTE = """\
But the  staff was so horrible to us .####[([2], [5], 'NEG')]
The battery life is good and cheap####[([1, 2], [4], 'POS'), ([1, 2], [6], 'POS'), ([0, 2], [6], 'NEU')]
"""


ASQP = """\
The pizza is yummy .####[['pizza', 'food quality', 'positive', 'yummy'], ['NULL', 'food prices', 'neutral', 'NULL']]
"""


ACOS = "looks nice , and the  surface is smooth\t-1,-1 LAPTOP#DESIGN_FEATURES 2 1,2\t5,6 LAPTOP#DESIGN_FEATURES 0 7,8\n"
